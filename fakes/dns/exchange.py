"""One message and its response, through the hook points: what is the same for updates, queries and transfers.

    arrived -> RECEIVED -> signature -> (face: desk.treat or desk.read) -> RESPONDING -> written -> RESPONDED

The line of a call is `UPDATE example` or `QUERY www.example A`; on the other ports it ends in ` at secondary`, ` at resolver`.
DROP, TWICE and LATE are for datagrams; on a stream they are noted as `hook-failed` and change nothing. On a datagram,
`reset` and `fin` are silence, and `truncate:N` is a datagram of N bytes. On a stream N counts the length prefix too.

The time of signatures. A client's clock is that of the world, also when this fake's was advanced. So both clocks agree
when a message arrives, and what passes here from then on counts: a datagram that comes late can be too old. A manual
clock takes the message's own time for the present. `clock_skew_s` lets the server's clock be wrong.
Never here: what is asked and answered.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import dns.rcode
import dns.tsig
from dns.rcode import Rcode

from fakes.dns.channel import Way
from fakes.dns.messages import Incoming, read_message
from fakes.dns.signatures import Signer, Standing, is_in_time, verify
from fakes.dns.views import PRIMARY
from fakes.dns.wording import Outgoing, rcode_of, render
from fakes.wire.board import Interrupted
from fakes.wire.desk import Call, Desk
from fakes.wire.points import Act, Action, Point
from harness.model.cell import SECOND_NS


@dataclass(frozen=True, slots=True)
class Visit:
    """One arrived message."""

    asked: Incoming
    call: Call
    way: Way
    view: str
    delivery: int
    standing: Standing
    came_ns: int
    sender_ns: int
    """The sender's present when it came."""


@dataclass(frozen=True, slots=True)
class Said:
    """The response as it goes out: several messages for a transfer."""

    rcode: Rcode
    wires: Sequence[bytes]


class Exchange(ABC):
    """What a DNS face is, without what it knows."""

    def __init__(self, desk: Desk, key: dns.tsig.Key, *, skew_s: float, checks_time: bool) -> None:
        self.desk = desk
        self._key = key
        self._skew_ns = round(skew_s * SECOND_NS)
        self._checks_time = checks_time

    @abstractmethod
    async def respond_to(self, visit: Visit) -> Said:
        """The response to a readable message whose signature, if it has one, is good. Raises Interrupted."""

    async def handle(self, wire: bytes, way: Way, view: str, *, delivery: int = 1) -> None:
        """Treat one message that has come. Raises nothing."""
        asked = read_message(wire)
        if asked is None:
            self.desk.note("torn", "", {"bytes": len(wire), "transport": _transport(way)})
            way.end(by_reset=False)
            return
        told = {"view": view, "transport": _transport(way), "delivery": delivery}
        line = asked.line if view == PRIMARY else f"{asked.line} at {view}"
        visit = self._visit(asked, self.desk.arrived(line, **told), way, view, delivery)
        try:
            if await self._received(visit):
                await self._say(visit, await self._respond(visit))
        except Interrupted as cut:
            await self._interrupt(visit, cut)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # ours: it must not look like a provider's answer for long, so it is noted
            self.desk.note_bug(error, visit.call.number)
            await self._say_safely(visit, Rcode.SERVFAIL)

    def said(self, visit: Visit, outgoing: Outgoing) -> Said:
        """A response of one message, signed if the request was."""
        wire = render(visit.asked, outgoing, is_datagram=visit.way.is_datagram)
        return Said(outgoing.rcode, self.signed(visit, [wire]))

    def signed(self, visit: Visit, wires: Sequence[bytes]) -> list[bytes]:
        """These messages, signed if the request was."""
        if not visit.standing.is_signed:
            return list(wires)
        signer = Signer(visit.asked, self._key)
        now_s = self._server_s(visit)
        return [signer.sign(wire, now_s, is_one_of_many=len(wires) > 1) for wire in wires]

    # On the way in.

    def _visit(self, asked: Incoming, call: Call, way: Way, view: str, delivery: int) -> Visit:
        clock = self.desk.clock
        came_ns = clock.now_ns()
        sender_ns = came_ns - clock.offset_ns
        if clock.is_manual:
            sender_ns = asked.signature.rdata.time_signed * SECOND_NS if asked.signature else came_ns
        return Visit(asked, call, way, view, delivery, verify(asked, self._key), came_ns, sender_ns)

    def _server_s(self, visit: Visit) -> int:
        """The server's present, as it signs."""
        passed_ns = self.desk.clock.now_ns() - visit.came_ns
        return (visit.sender_ns + passed_ns + self._skew_ns) // SECOND_NS

    async def _received(self, visit: Visit) -> bool:
        """Cross RECEIVED. False if the message is lost on its way."""
        if visit.delivery > 1:
            return True  # the copy a hook made: it does not meet that hook again
        action = await self.desk.cross(Point.RECEIVED, visit.call)
        if not self._is_for_datagrams(visit, action):
            return True
        self.desk.cut(visit.call, action, Point.RECEIVED)
        match action.act:
            case Act.DROP:
                return False
            case Act.TWICE:
                copy = self.handle(visit.asked.wire, visit.way, visit.view, delivery=visit.delivery + 1)
                self.desk.go(copy)
            case _:
                await self.desk.clock.sleep(action.duration_ns)
        return True

    def _is_for_datagrams(self, visit: Visit, action: Action) -> bool:
        """Is it one of the actions on datagrams, and this one? Such an action on a stream is noted."""
        if action.act not in (Act.DROP, Act.TWICE, Act.LATE):
            return False
        if not visit.way.is_datagram:
            error = "only datagrams can be lost, doubled or late"
            self.desk.note("hook-failed", visit.call.number, {"action": str(action), "error": error})
        return visit.way.is_datagram

    async def _respond(self, visit: Visit) -> Said:
        asked, standing = visit.asked, visit.standing
        if asked.problem != Rcode.NOERROR:
            return self.said(visit, Outgoing(asked.problem))
        error = standing.error
        if standing.is_signed and self._checks_time and asked.signature is not None:
            error = error if is_in_time(asked.signature, self._server_s(visit)) else Rcode.BADTIME
        if error == Rcode.NOERROR:
            return await self.respond_to(visit)
        wire = render(asked, Outgoing(Rcode.NOTAUTH), is_datagram=visit.way.is_datagram)
        return Said(Rcode.NOTAUTH, [Signer(asked, self._key).with_error(wire, error, self._server_s(visit))])

    # On the way out.

    async def _say(self, visit: Visit, said: Said) -> None:
        """Write the response, through RESPONDING and RESPONDED. Raises Interrupted."""
        call, way = visit.call, visit.way
        action = await self.desk.cross(Point.RESPONDING, call)
        copies = 1
        if action.act is Act.TRUNCATE:
            self.desk.cut(call, action, Point.RESPONDING)
            way.limit(action.bytes_count, by_reset=action.by_reset)
        elif self._is_for_datagrams(visit, action):
            self.desk.cut(call, action, Point.RESPONDING)
            copies = {Act.DROP: 0, Act.TWICE: 2}.get(action.act, 1)
            await self.desk.clock.sleep(action.duration_ns)
        for wire in list(said.wires) * copies:
            way.write(wire)
        if copies and not way.is_cut:
            bytes_count = sum(len(wire) for wire in said.wires)
            self.desk.responded(call, code=dns.rcode.to_text(said.rcode), bytes=bytes_count)
            await self.desk.cross(Point.RESPONDED, call)

    async def _interrupt(self, visit: Visit, cut: Interrupted) -> None:
        if cut.action.act is Act.STATUS:
            await self._say_safely(visit, rcode_of(cut.action.code))
            return
        self.desk.cut(visit.call, cut.action, cut.point)
        visit.way.end(by_reset=cut.action.act is Act.RESET)

    async def _say_safely(self, visit: Visit, rcode: Rcode) -> None:
        """Answer with a code, and do what a hook wants with that answer."""
        try:
            await self._say(visit, self.said(visit, Outgoing(rcode)))
        except Interrupted as cut:  # no status: a response cannot become another response
            await self._interrupt(visit, cut)


def _transport(way: Way) -> str:
    return "udp" if way.is_datagram else "tcp"
