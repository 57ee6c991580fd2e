"""The post office: what is accepted is sent, delivered or returned, and kept where it can be read.

    scheduled --due--> sent --settles--> delivered | bounced (its sender gets a report)
    scheduled --cancel--> canceled       scheduled --hook at SETTLE: fail--> failed

The effect is the moment of `sent`: then the provider owns the message, and nothing calls it back. Whether it is
delivered is told later, by recipient. Both timers are set again after a restart.
Never here: a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Any, NamedTuple

from fakes.email.composing import Bounce, report
from fakes.email.letters import (
    BOUNCED,
    CANCELED,
    DELIVERED,
    FAILED,
    QUEUED,
    Letter,
    joined,
    read_letter,
)
from fakes.email.mailing import SEND, Mailing, Rules
from fakes.email.options import EmailOptions
from fakes.wire.desk import Desk
from fakes.wire.journal_file import Document
from fakes.wire.outbox import Outbox
from fakes.wire.points import Facts
from fakes.wire.shelf import ProviderState, Shelf
from harness.model.boundary import Purpose
from harness.model.wire import Reply, Request

LETTER, CONTENT = "letter", "content"
NULL_SENDER = "<>"
OUTSIDER = "somebody.else@example.test"


class Posting(NamedTuple):
    """A message that is to be accepted. `write` makes its bytes, given the id it gets."""

    via: str
    sender: str
    recipients: tuple[str, ...]
    write: Callable[[str], bytes]
    digest: str
    """Of what was asked: two askings are the same if it is the same."""
    message_id: str = ""
    operation: str = ""
    target: str = ""
    key: str = ""
    not_after_ns: int = 0
    reference: str = ""
    metadata: Mapping[str, str] = {}
    username: str = ""
    due_ns: int = 0
    """When it is to be sent; 0: now."""

    @property
    def about(self) -> str:
        """What its effect is about."""
        return self.target or joined(self.recipients)

    def request(self) -> Request:
        """As the domain sees it."""
        params = {"to": joined(self.recipients), "digest": self.digest}
        return Request("email", SEND, Purpose.EFFECT, self.operation, self.about, params, self.key, self.not_after_ns)


class Office:
    """All messages of one provider. `state` is durable."""

    def __init__(self, desk: Desk, options: EmailOptions) -> None:
        rules = Rules(
            keeps_keys=options.keys != "none",
            key_ttl_ns=options.key_ttl_ns,
            compares_body=options.compares_body,
            releases_on_error=options.keys == "release-on-error",
            refused=options.refused_recipients,
        )
        self.mailing = Mailing(options.provider_cell, rules, now=desk.clock.now_ns, record=desk.record)
        self.shelf = Shelf()
        self.outbox = Outbox(desk, self.shelf, options.subscribers)
        self.state = _OfficeState(self.mailing, self.shelf, self._take_up)
        self._desk = desk
        self._options = options
        self._age = 0
        """Timers of an earlier age are of a past that a restore took back."""

    # Changes: called within a step that is made durable.

    def accept(self, call: str, posting: Posting) -> Reply:
        """Take a message: it is sent at once, or when it is due. Raises ProviderFailure."""
        if self._options.drops_repeated_message_ids and (earlier := self._with_message_id(posting.message_id)):
            return Reply(earlier, replayed=True)
        is_later = posting.due_ns > self._desk.clock.now_ns()
        reply = self.mailing.send(call, self.mailing.as_kept(posting.request()), is_later=is_later)
        if not reply.replayed:
            self._file(reply.reference, call, posting, is_later=is_later)
        return reply

    def cancel(self, id_: str) -> Letter:
        """Do not send a scheduled message. Raises ProviderFailure if it is too late."""
        self.mailing.cancel(id_)
        letter = self._put(self.letter(id_)._replace(ended_ns=self._now(), end=CANCELED))
        self._desk.note("canceled", self._desk.current, {"effect": id_, "target": letter.target})
        return letter

    def delete(self, ids: Iterable[str]) -> None:
        """Take messages out of the mailbox. What was sent stays sent."""
        now_ns = self._now()
        for id_ in ids:
            if (letter := self.find(id_)) is not None and letter.is_in_mailbox(now_ns):
                self._put(letter._replace(deleted_ns=now_ns))

    def mark_read(self, id_: str) -> None:
        """A message was opened."""
        if not (letter := self.letter(id_)).is_read:
            self._put(letter._replace(is_read=True))

    def send_outside(self, target: str, recipients: tuple[str, ...]) -> None:
        """Somebody else writes to the same recipients."""
        text = b"From: somebody.else@example.test\r\nSubject: From somebody else\r\n\r\nThis was sent by somebody else.\r\n"
        posting = Posting("outside", OUTSIDER, recipients, lambda id_: text, "", target=target)
        id_ = self.mailing.send_outside(target, joined(recipients))
        self._file(id_, "", posting._replace(operation="outside"), is_later=False)

    def _file(self, id_: str, call: str, posting: Posting, *, is_later: bool) -> None:
        now_ns, content = self._now(), posting.write(id_)
        self.shelf.put(CONTENT, id_, content.decode("latin-1"))
        letter = Letter(
            id=id_,
            call=call,
            key=posting.key,
            via=posting.via,
            sender=posting.sender,
            recipients={address: [QUEUED, now_ns] for address in posting.recipients},
            operation=posting.operation,
            target=posting.about,
            reference=posting.reference,
            metadata=posting.metadata,
            username=posting.username,
            head=read_letter(content).head(),
            size=len(content),
            made_ns=now_ns,
            due_ns=posting.due_ns if is_later else now_ns,
            sent_ns=None if is_later else now_ns,
        )
        self._put(letter)
        self._set_timers(letter)

    def _put(self, letter: Letter) -> Letter:
        self.shelf.put(LETTER, letter.id, letter._asdict())
        return letter

    # What happens later.

    def _take_up(self) -> None:
        self._age += 1
        for letter in self.letters():
            self._set_timers(letter)
        self.outbox.resume()

    def _set_timers(self, letter: Letter) -> None:
        """Set the timers of what is open about this message."""
        if letter.sent_ns is None:
            if letter.ended_ns is None:
                self._later(letter.due_ns, _facts(letter, SEND, f"scheduled {letter.id}"), self._due(letter.id))
            return
        for address, (state, _) in letter.recipients.items():
            if state == QUEUED:
                facts = _facts(letter, "deliver", f"deliver {address}")
                self._later(letter.sent_ns + self._options.settles_ns, facts, self._settled(letter.id, address))

    def _later(self, due_ns: int, facts: Facts, settle: Callable[[bool], None]) -> None:
        """Cross SETTLE when it is due, and settle, unless a restore has begun another age."""
        age = self._age

        def due() -> None:
            if age == self._age:
                self._desk.settle_later(0, facts, lambda is_done: settle(is_done) if age == self._age else None)

        self._desk.clock.later(due_ns - self._now(), due)

    def _due(self, id_: str) -> Callable[[bool], None]:
        def fall_due(is_done: bool) -> None:
            letter = self.letter(id_)
            if letter.sent_ns is not None or letter.ended_ns is not None:
                return  # It was cancelled while it was held.
            now_ns = self._now()
            if self.mailing.fall_due(letter.call, id_, letter.key, will_be_sent=is_done):
                queued = {address: [QUEUED, now_ns] for address in letter.recipients}
                self._set_timers(self._put(letter._replace(sent_ns=now_ns, recipients=queued)))
                return
            self._put(letter._replace(ended_ns=now_ns, end=FAILED))
            self._desk.note(FAILED, letter.call, {"effect": id_, "target": letter.target})
            self._tell(letter, FAILED)

        return fall_due

    def _settled(self, id_: str, address: str) -> Callable[[bool], None]:
        def settle(is_done: bool) -> None:
            letter, now_ns = self.letter(id_), self._now()
            state = DELIVERED if is_done and not self._bounces(address) else BOUNCED
            letter = self._put(letter._replace(recipients={**letter.recipients, address: [state, now_ns]}))
            about = {"effect": id_, "target": letter.target, "recipient": address}
            self._desk.note(state, letter.call, about)
            if state == BOUNCED and letter.sender != NULL_SENDER:
                self._return(letter, address)
            self._tell(letter, state, address)

        return settle

    def _bounces(self, address: str) -> bool:
        return any(fnmatchcase(address.lower(), glob.lower()) for glob in self._options.bounced_recipients)

    def _return(self, letter: Letter, address: str) -> None:
        """Report a bounce to the sender: a message of the server's own, which is nobody's effect."""
        id_ = f"report-{self.shelf.number('report')}"
        hostname, now_ns = self._options.hostname, self._now()
        head = self.content(letter.id).partition(b"\r\n\r\n")[0] + b"\r\n"
        bounce = Bounce(hostname, letter.sender, address, letter.id, head)
        content = report(bounce, message_id=f"{id_}@{hostname}", now_ns=now_ns)
        self.shelf.put(CONTENT, id_, content.decode("latin-1"))
        returned = letter._replace(
            id=id_,
            key="",
            via="report",
            sender=NULL_SENDER,
            recipients={letter.sender: [DELIVERED, now_ns]},
            metadata={},
            username="",
            head=read_letter(content).head(),
            size=len(content),
            made_ns=now_ns,
            due_ns=now_ns,
            sent_ns=now_ns,
            deleted_ns=None,
            is_read=False,
        )
        self._put(returned)

    def _tell(self, letter: Letter, state: str, address: str = "") -> None:
        data: dict[str, Any] = {"email_id": letter.id, "message_id": letter.head["message_id"]}
        data |= {"reference": letter.reference, "operation": letter.operation}
        data |= {"recipient": address} if address else {}
        facts = Facts(call=letter.call, target=letter.target, operation=letter.operation)
        self.outbox.put(f"email.{state}", facts, data)

    # Reading.

    def _now(self) -> int:
        return self._desk.clock.now_ns()

    def letters(self) -> Iterator[Letter]:
        """Everything that was ever accepted, oldest first."""
        return (Letter(**document) for document in list(self.shelf.all(LETTER).values()))

    def find(self, id_: str) -> Letter | None:
        document = self.shelf.get(LETTER, id_)
        return None if document is None else Letter(**document)

    def letter(self, id_: str) -> Letter:
        """The message of this id, which must be there."""
        letter = self.find(id_)
        assert letter is not None, f"{id_} was never accepted"
        return letter

    def content(self, id_: str) -> bytes:
        """The bytes of a message."""
        return str(self.shelf.get(CONTENT, id_)).encode("latin-1")

    def _with_message_id(self, message_id: str) -> str:
        wanted = (each.id for each in self.letters() if message_id and each.head["message_id"] == message_id)
        return next(wanted, "")


def digest_of(*parts: bytes) -> str:
    """What two equal askings have in common."""
    return blake2b(b"\0".join(parts), digest_size=16).hexdigest()


def _facts(letter: Letter, what: str, line: str) -> Facts:
    return Facts(letter.call, line, what, letter.target, letter.operation, letter.key)


class _OfficeState(ProviderState):
    """Rows, messages and events; whatever is open goes on after a load."""

    def __init__(self, mailing: Mailing, shelf: Shelf, take_up: Callable[[], None]) -> None:
        super().__init__(mailing, shelf)
        self._take_up = take_up

    def load(self, documents: Iterable[Document]) -> None:
        """Be what these say."""
        super().load(documents)
        self._take_up()
