"""The SMTP port: aiosmtpd's protocol, with the hook points around it.

The request is the message. It has arrived when its final dot has, and goes the way of every request: RECEIVED (line
`END-OF-DATA <sender> -> <recipients>`), PARSED (what=send), BEFORE_COMMIT, AFTER_COMMIT, RESPONDING and RESPONDED with
the 250 or the refusal. CONNECT is crossed before the greeting.

The commands before it are no requests and change nothing. They are crossed only by hooks that name them, by `what` or
`line`, so that `received = reset` means the message: RECEIVED for every known command (`received what=quit = reset`),
and PARSED for MAIL and RCPT once their address was read (`parsed what=rcpt target=a@b.example = status:550`).

A server that has the final dot is done with the client's help: a message that is held at a hook is treated to its end
even if the client goes away meanwhile.
Never here: what becomes of a message, and the HTTP interfaces.
"""

from __future__ import annotations

import asyncio
import functools
import hmac
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult

from fakes.email.composing import trace
from fakes.email.letters import read_letter
from fakes.email.office import Office, Posting, digest_of
from fakes.email.options import EmailOptions
from fakes.email.smtp_words import (
    LINE_TOO_LONG,
    NO_AUTH,
    TOO_MANY_RECIPIENTS,
    UNEXPECTED,
    queued,
    refusal_line,
    status_line,
    unknown_recipient,
)
from fakes.wire.board import Interrupted
from fakes.wire.desk import Call, Desk
from fakes.wire.http import IDLE_MAX_S, LINE_LENGTH_MAX
from fakes.wire.points import Act, Point, parse_hook
from fakes.wire.tap import Tap
from harness.model.errors import ProviderFailure

RECIPIENTS_MAX = 100
COMMAND_BYTES_MAX = 512
MAIL_BYTES_MAX = COMMAND_BYTES_MAX + 36
"""RFC 1870 and 6531 make room for SIZE and SMTPUTF8."""
NOT_AFTER_DIGITS_MAX = 20
Method = Callable[[Any], Awaitable[None]]


class SmtpServer:
    """One listening SMTP port."""

    def __init__(self, desk: Desk, office: Office, options: EmailOptions) -> None:
        logging.getLogger("mail.log").setLevel(logging.CRITICAL)  # what happens is in the journal
        self._clerk = Clerk(desk, office, options)
        self._connections: set[Connection] = set()

    async def serve(self, sock: Any) -> None:
        """Begin to answer on this listening socket."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self._clerk, self._connections, loop), sock=sock)

    async def close(self) -> None:
        """Stop listening and end every connection."""
        self._server.close()
        await asyncio.gather(*[connection.abort() for connection in list(self._connections)])


class Connection(SMTP):
    """aiosmtpd's, with a tap on its transport and the hook points."""

    def __init__(self, clerk: Clerk, open_ones: set[Connection], loop: asyncio.AbstractEventLoop) -> None:
        # Of the class, this table would be shared by all connections, and grow with every EHLO.
        self.command_size_limits: dict[str, int] = defaultdict(lambda: COMMAND_BYTES_MAX)
        options = clerk.options
        super().__init__(
            clerk,
            data_size_limit=options.size_max,
            enable_SMTPUTF8=True,
            hostname=options.hostname,
            ident="ESMTP",
            timeout=IDLE_MAX_S,
            auth_require_tls=not options.smtp_user,
            authenticator=clerk.check_password,
            loop=loop,
        )
        self._auth_required = options.requires_auth
        self._smtp_methods = {name: self._held(name, method) for name, method in self._smtp_methods.items()}
        self._clerk = clerk
        self._desk = clerk.desk
        self._open_ones = open_ones
        self._answered: Call | None = None

    # Transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._tap = Tap(transport)  # type: ignore[arg-type]
        self._open_ones.add(self)
        super().connection_made(self._tap)  # type: ignore[arg-type]  # it stands in a transport's place
        self._handling().add_done_callback(self._ended)

    def connection_lost(self, error: Exception | None) -> None:
        self._open_ones.discard(self)
        super().connection_lost(error)

    async def abort(self) -> None:
        """End it from our side, without a farewell."""
        self._tap.abort()
        self._handling().cancel()
        with suppress(asyncio.CancelledError, ConnectionError):
            await self._handling()

    def _handling(self) -> asyncio.Task[None]:
        assert self._handler_coroutine is not None, "there is no connection yet"
        return self._handler_coroutine

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) and not isinstance(error, ConnectionError):
            self._desk.note_bug(error)

    async def _handle_client(self) -> None:
        call = Call("", "connect")
        try:
            await self._desk.cross(Point.CONNECT, call)
        except Interrupted as cut:
            self.cut(call, cut)
        await super()._handle_client()

    def cut(self, call: Call, cut: Interrupted) -> None:
        """End the connection on purpose. Does not return: it ends the connection's task as a lost connection does."""
        self._desk.cut(call, cut.action, cut.point)
        self._tap.end(by_reset=cut.action.act is Act.RESET)
        raise asyncio.CancelledError

    # What is said.

    def answer(self, call: Call) -> None:
        """The next thing said is the answer to this request."""
        self._answered = call

    async def push(self, status: str | bytes) -> None:
        line = status if isinstance(status, bytes) else status.encode("utf-8", "replace")
        line = line.replace(b"\r", b" ").replace(b"\n", b" ")
        call, self._answered = self._answered, None
        if call is not None:
            await self._responding(call)
        await super().push(line)
        if call is not None:
            await self._responded(call, line)
        if line.startswith(b"421"):
            self._tap.close()

    async def _responding(self, call: Call) -> None:
        try:
            action = await self._desk.cross(Point.RESPONDING, call)
        except Interrupted as cut:
            self.cut(call, cut)
        if action.act is Act.TRUNCATE:
            self._desk.cut(call, action, Point.RESPONDING)
            self._tap.limit(action.bytes_count, by_reset=action.by_reset)

    async def _responded(self, call: Call, line: bytes) -> None:
        if self._tap.is_cut:
            raise asyncio.CancelledError
        self._desk.responded(call, code=int(line[:3]), bytes=len(line) + 2)
        try:
            await self._desk.cross(Point.RESPONDED, call)
        except Interrupted as cut:
            self.cut(call, cut)

    # Commands.

    def _held(self, name: str, method: Method) -> Method:
        """A command that a hook may hold."""

        @functools.wraps(method)
        async def held(argument: str | None) -> None:
            # What follows AUTH is a secret.
            line = name if argument is None or name == "AUTH" else f"{name} {argument}"
            call = Call("", line[:LINE_LENGTH_MAX]).about(what=name.lower())
            if said := await self.crossing(Point.RECEIVED, call):
                await self.push(said)
            else:
                await method(argument)

        return held

    async def crossing(self, point: Point, call: Call) -> str:
        """Cross a point with a command, if a hook there names it. Returns the status line it wants, or ""."""
        if not self._is_named(point, call):
            return ""
        try:
            await self._desk.cross(point, call)
        except Interrupted as cut:
            if cut.action.act is Act.STATUS:
                return status_line(cut.action.code)
            self.cut(call, cut)
        return ""

    def _is_named(self, point: Point, call: Call) -> bool:
        if self._desk.board.is_empty:
            return False
        hooks = [parse_hook(armed["hook"]) for armed in self._desk.board.listing()]
        return any(hook.match.keys() & {"what", "line"} and hook.fits(point, call.facts) for hook in hooks)

    async def smtp_AUTH(self, arg: str | None) -> None:
        if not self._clerk.options.smtp_user:
            await self.push(NO_AUTH)
            return
        try:
            await super().smtp_AUTH(arg)
        except ValueError:  # the stream's word for a line beyond its limit
            await self.push(LINE_TOO_LONG)

    def _getaddr(self, arg: str) -> tuple[str | None, str | None]:
        """An address and what follows it, or twice None for what is none."""
        try:
            address, rest = super()._getaddr(arg)
        except (IndexError, AttributeError, ValueError, TypeError, RecursionError):  # the library's, on garbage
            return None, None
        if address is None or not (address + (rest or "")).isprintable():
            return None, None  # Bytes that are no text come as lone surrogates, which nothing can write down.
        if '"' in address and '"' not in arg:
            return None, None  # The library quotes what has a blank in it; a server refuses it.
        return address, rest


class Clerk:
    """What is done with commands and messages, in aiosmtpd's terms: one for all connections."""

    def __init__(self, desk: Desk, office: Office, options: EmailOptions) -> None:
        self.desk = desk
        self.options = options
        self._office = office

    def check_password(self, server: Any, session: Any, envelope: Any, mechanism: str, said: Any) -> AuthResult:
        """Is it the test user?"""
        is_user = hmac.compare_digest(bytes(said.login), self.options.smtp_user.encode())
        is_right = hmac.compare_digest(bytes(said.password), self.options.smtp_password.encode())
        return AuthResult(success=is_user and is_right, handled=False)

    async def handle_EHLO(
        self, server: Connection, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        server.command_size_limits["MAIL"] = MAIL_BYTES_MAX
        return responses

    async def handle_MAIL(
        self, server: Connection, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        call = Call("", f"MAIL FROM:<{address}>"[:LINE_LENGTH_MAX]).about(what="mail")
        if said := await server.crossing(Point.PARSED, call):
            return said
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 Ok"

    async def handle_RCPT(
        self, server: Connection, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        call = Call("", f"RCPT TO:<{address}>"[:LINE_LENGTH_MAX]).about(what="rcpt", target=address)
        if said := await server.crossing(Point.PARSED, call):
            return said
        if self._office.mailing.rules.refuses(address):
            return unknown_recipient(address)
        if len(envelope.rcpt_tos) >= RECIPIENTS_MAX:
            return TOO_MANY_RECIPIENTS
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server: Connection, session: Any, envelope: Any) -> str:
        """The final dot has come."""
        recipients = tuple(dict.fromkeys(envelope.rcpt_tos))
        call = self.desk.arrived(
            f"END-OF-DATA {_angled(envelope.mail_from)} -> {_listed(recipients)}"[:LINE_LENGTH_MAX]
        )
        outcome: asyncio.Future[str | Interrupted] = asyncio.get_running_loop().create_future()
        self.desk.go(self._treat(call, session, envelope.mail_from, recipients, envelope.original_content, outcome))
        said = await outcome
        if isinstance(said, Interrupted):
            server.cut(call, said)
            raise AssertionError("a cut connection goes on")
        server.answer(call)
        return said

    async def handle_exception(self, error: Exception) -> str:
        """Something went wrong that is not the client's doing."""
        if isinstance(error, EOFError):
            return status_line(421)
        self.desk.note_bug(error)
        return UNEXPECTED

    async def _treat(
        self,
        call: Call,
        session: Any,
        sender: str,
        recipients: tuple[str, ...],
        content: bytes,
        outcome: asyncio.Future[str | Interrupted],
    ) -> None:
        """From RECEIVED to AFTER_COMMIT, whether or not the client waits for the outcome."""
        said: str | Interrupted
        try:
            await self.desk.cross(Point.RECEIVED, call)
            posting = self._posting(session, sender, recipients, content)
            call.about(what="send", target=posting.about, operation=posting.operation)
            reply = await self.desk.treat(call, lambda: self._office.accept(call.number, posting))
            said = queued(reply.reference)
        except ProviderFailure as failed:
            said = refusal_line(failed)
        except Interrupted as cut:
            said = status_line(cut.action.code) if cut.action.act is Act.STATUS else cut
        except Exception as error:  # ours: the client must not wait for ever
            self.desk.note_bug(error, call.number)
            said = UNEXPECTED
        if not outcome.done():
            outcome.set_result(said)

    def _posting(self, session: Any, sender: str, recipients: tuple[str, ...], content: bytes) -> Posting:
        """What was sent, as the office takes it. Raises ProviderFailure for a deadline that is none."""
        reading = read_letter(content)
        deadline = reading.not_after or "0"
        if not (deadline.isascii() and deadline.isdigit() and len(deadline) <= NOT_AFTER_DIGITS_MAX):
            raise ProviderFailure("invalid", "X-Not-After-Ns is a whole number of nanoseconds since 1970")

        def write(id_: str) -> bytes:
            now_ns, hostname = self.desk.clock.now_ns(), self.options.hostname
            is_extended = bool(session.extended_smtp)
            return (
                trace(helo=session.host_name, hostname=hostname, id_=id_, now_ns=now_ns, is_extended=is_extended)
                + content
            )

        return Posting(
            via="smtp",
            sender=sender,
            recipients=recipients,
            write=write,
            digest=digest_of(content),
            message_id=reading.message_id,
            operation=reading.operation,
            target=reading.target,
            not_after_ns=int(deadline),
            username=self.options.smtp_user if session.authenticated else "",
        )


def _angled(address: str) -> str:
    return address if address == "<>" else f"<{address}>"


def _listed(recipients: tuple[str, ...]) -> str:
    return ",".join(f"<{address}>" for address in recipients)
