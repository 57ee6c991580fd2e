"""The mail provider on the wire: SMTP (`smtp.py`), a mail API (`sending.py`) and a mailbox to read (`mailbox.py`).

One message is one effect, whichever way it came and however many recipients it has. Its target is the header `X-Target`
or the accepted recipients joined with commas, its operation the header `X-Operation` or ""; its id is the queue id in
SMTP's 250, the id of the mail API and the ID in the mailbox. Keys exist over HTTP alone.

SETTLE is crossed when a message is delivered to a recipient (what=deliver, line `deliver ADDRESS`; `fail`: it bounces)
and when a scheduled one is due (what=send; `fail`: it is never sent). EVENT is crossed for each event
(`email.delivered`, `email.bounced`, `email.failed`) on its way to a subscriber.
Never here: any of it; this file puts the parts together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.applications import Starlette

from fakes.email.letters import is_address
from fakes.email.mailbox import Mailbox
from fakes.email.office import Office
from fakes.email.options import EmailOptions
from fakes.email.sending import SendingApi
from fakes.email.smtp import SmtpServer
from fakes.wire.desk import Call, Desk
from fakes.wire.fake import Options, Place, Port, Sockets
from fakes.wire.http import Refusal
from fakes.wire.json_api import JsonFake, json_application
from fakes.wire.points import Facts
from harness.model.errors import ProviderFailure

ANYBODY = "anybody@example.test"
UNPROCESSABLE = 422


class EmailFake(JsonFake):
    """The mail provider, hosted."""

    name: ClassVar[str] = "email"
    title: ClassVar[str] = "Mail provider: SMTP, a JSON mail API, and a mailbox read as Mailpit's"
    ports: ClassVar[tuple[Port, ...]] = (Port("smtp"), Port("http"))
    options_class: ClassVar[type[Options]] = EmailOptions
    competitors: ClassVar[Mapping[str, str]] = {
        "send": "Somebody else writes to the same recipients.",
        "cancel": "Somebody cancels the oldest scheduled message at the target.",
        "purge": "Somebody empties the mailbox; what was sent stays sent.",
    }
    options: EmailOptions

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        self.office = Office(desk, self.options)
        self.state = self.office.state
        self._smtp = SmtpServer(desk, self.office, self.options)

    async def serve(self, sockets: Mapping[str, Sockets]) -> None:
        await super().serve(sockets)
        await self._smtp.serve(sockets["smtp"]["tcp"])
        self.office.outbox.open()

    async def close(self) -> None:
        await self.office.outbox.close()
        await self._smtp.close()
        await super().close()

    def application(self) -> Starlette:
        sending = SendingApi(self.desk, self.office, self.options)
        return json_application([*sending.routes, *Mailbox(self.desk, self.office).routes])

    def failure(self, failed: ProviderFailure, call: Call) -> tuple[int, Refusal]:
        status, refusal = super().failure(failed, call)
        return (UNPROCESSABLE if failed.code == "declined" else status), refusal

    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        smtp, url, options = places["smtp"], places["http"].url, self.options
        env = {"SMTP_HOST": smtp.host, "SMTP_PORT": str(smtp.port), "MAIL_API_BASE": url, "MAILBOX_BASE": url}
        env |= {"MAIL_API_KEY": options.api_key} if options.api_key else {}
        entry: dict[str, Any] = {"smtp": {"host": smtp.host, "port": smtp.port}, "url": url, "api_key": options.api_key}
        if options.smtp_user:
            entry["smtp"] |= {"user": options.smtp_user, "password": options.smtp_password}
            env |= {"SMTP_USER": options.smtp_user, "SMTP_PASSWORD": options.smtp_password}
        return {**entry, "env": env}

    def view(self) -> Any:
        now_ns = self.desk.clock.now_ns()
        shown = []
        for letter in self.office.letters():
            view = letter._asdict()
            view |= {"status": letter.status(now_ns)}
            shown.append(view)
        return {"emails": shown, "events": self.office.outbox.events()}

    def compete(self, what: str, facts: Facts) -> None:
        match what:
            case "send":
                found = tuple(address for address in facts.target.split(",") if is_address(address))
                self.office.send_outside(facts.target, found or (ANYBODY,))
            case "cancel":
                pending = self.office.mailing.pending_at(facts.target)
                if pending is None:
                    raise LookupError(f"nothing is scheduled at {facts.target!r}")
                self.office.cancel(pending)
            case "purge":
                self.office.delete([letter.id for letter in self.office.letters()])
            case _:
                super().compete(what, facts)
