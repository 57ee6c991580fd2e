"""The shipping service as its protocol knows it: purchases and refunds that take time, tracking, and money.

Theory. A label is a row of the domain; what the domain does not know (addresses, tracking, refunds) is on its sheet, as
lists of moments, so that the past can be read like the present.

    purchase: queued --settles--> purchased | failed           (at once: purchased from the beginning)
    refund:   none --void--> submitted --settles--> refunded   then the label is voided, for ever
                                       \\-----------> rejected  then it may be asked for again
              none --void--> not_applicable                    nothing was paid, so nothing is changed

A refund is rejected if the carrier scanned the label meanwhile, if its settling fails, and if it was asked for earlier
than the carrier knows the label (`early_ns` after the purchase), which is wrong and mends itself by asking again.
Money is spent when a purchase settles, and comes back when a refund does.
Never here: HTTP, timers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fakes.core.endpoint import Arrival
from fakes.core.kernel import OUTSIDE, Again, Change
from fakes.core.rows import Row
from fakes.shipment.domain import Shipments
from fakes.wire.json_api import OnWire, Refused, missing
from fakes.wire.shelf import Shelf
from harness.model.boundary import Phase, Purpose
from harness.model.cell import Cell
from harness.model.fault import Fault
from harness.model.wire import Reply, Request

BUY, VOID = "label.buy", "label.void"
QUEUED, PURCHASED, FAILED, VOIDED = "queued", "purchased", "failed", "voided"
SUBMITTED, REFUNDED, REJECTED, NOT_APPLICABLE = "submitted", "refunded", "rejected", "not_applicable"
PRE_TRANSIT = "pre_transit"
TRACKING = (PRE_TRANSIT, "in_transit", "out_for_delivery", "delivered", "returned", "failure")
SHEET, OPEN = "sheet", "open"
CURRENCY = "USD"

View = dict[str, Any]


class Labels(Shipments, OnWire):
    """Labels with their sheets. `funds` is what can be spent in all."""

    __slots__ = ("_spent", "early_ns", "funds", "shelf")

    funds: int
    early_ns: int
    shelf: Shelf

    def __init__(self, cell: Cell, **lent: Any) -> None:
        super().__init__(cell, **lent)
        self._spent = 0

    # Money.

    def count(self, row: Row, sign: int) -> None:
        """A row came (+1) or was replaced (-1)."""
        if row.action == BUY and row.is_standing:
            self._spent += sign * row.amount

    def balance(self, at_ns: int | None = None) -> dict[str, int | str]:
        """What was spent and came back, now or as of an earlier moment."""
        moment_ns = self._now() if at_ns is None else at_ns
        bought = [row for row in self._table if row.action == BUY and row.settled_ns <= moment_ns]
        spent = sum(row.amount for row in bought)
        refunded = sum(row.amount for row in bought if row.undone_ns <= moment_ns)
        left = self.funds - spent + refunded
        return {"currency": CURRENCY, "spent": spent, "refunded": refunded, "available": left}

    def _make(self, request: Request, again: Again) -> Change:
        change = super()._make(request, again)
        left = self.funds - self._spent
        if change.amount > left:
            raise Refused(402, "declined", f"the label costs {change.amount} and {left} is left", available=left)
        return change

    # Changes. What settles later is `open` on the shelf until it does.

    def buy(
        self, call: str, request: Request, sheet: Mapping[str, Any], *, settles_ns: int | None
    ) -> tuple[Reply, str]:
        """Buy a label, at once or (`settles_ns`) later: (the reply, its id)."""
        commits, numbers = self.commits, self._table._numbers
        reply = self._treat(call, request, settles_ns)
        if self.commits > commits or self._table._numbers > numbers:
            self.shelf.put(SHEET, reply.reference, {**sheet, "tracking": [], "refunds": []})
        return reply, reply.reference

    def void(self, call: str, label: str, request: Request, *, settles_ns: int) -> Reply:
        """Ask for the refund of a label. Raises Refused."""
        if not self.has_answer_to(request):
            self._check_voidable(label)
        numbers = self._table._numbers
        reply = self._treat(call, request, settles_ns)
        if self._table._numbers > numbers:
            self._refund(label, {"status": SUBMITTED, "at_ns": self._now(), "void": reply.reference})
        return reply

    def waive(self, label: str) -> bool:
        """A label that cost nothing has no refund: say so. Is it one?"""
        row = self._label(label)
        if row.amount or not row.is_standing:
            return False
        if self._last_refund(label).get("status") != NOT_APPLICABLE:
            self._refund(label, {"status": NOT_APPLICABLE, "at_ns": self._now(), "void": ""})
        return True

    def void_outside(self, label: str) -> None:
        """Somebody else has it refunded, at once. Raises ProviderFailure."""
        target = self._label(label).target
        reply = self.do("", Request(self.name, VOID, Purpose.UNDO, OUTSIDE, target, {"reference": label}))
        self._refund(label, {"status": REFUNDED, "at_ns": self._now(), "void": reply.reference})

    def settle(self, reference: str, is_done: bool) -> str:
        """What is open under this reference settles. Returns the label it is about, or "" if nothing was open."""
        opened, row = self.shelf.get(OPEN, reference), self._table.get(reference)
        if opened is None or row is None or not row.is_pending:
            return ""
        purpose = Purpose.EFFECT if row.action == BUY else Purpose.UNDO
        request = Request(self.name, row.action, purpose, row.operation, row.target, dict(row.params), opened["key"])
        will_succeed = is_done and not self._is_early(row)
        self._settle(Arrival(opened["call"], "", request, 1), reference, will_succeed)
        self.shelf.remove(OPEN, reference)
        if row.action == BUY:
            return reference
        label = str(dict(row.params)["reference"])
        settled = self._table.get(reference)
        assert settled is not None
        status = REFUNDED if settled.is_standing or not self._label(label).is_standing else REJECTED
        self._refund(
            label, {"status": status, "at_ns": self._now(), "void": reference, "reason": self._why(label, status)}
        )
        return label

    def track(self, label: str, status: str) -> None:
        """The carrier says where the parcel is. The first word of it is a scan. Raises Refused."""
        row = self._label(label)
        if not row.is_standing:
            raise Refused(409, "not-purchased", "no parcel travels with this label", label=self.view(label))
        if status != PRE_TRANSIT:
            self.scan(label)
        sheet = self.shelf.get(SHEET, label)
        moment = {"status": status, "at_ns": self._now()}
        self.shelf.put(SHEET, label, {**sheet, "tracking": [*sheet["tracking"], moment]})

    def _treat(self, call: str, request: Request, settles_ns: int | None) -> Reply:
        if settles_ns is None:
            return self.do(call, request)

        def at(phase: Phase) -> Fault | None:
            return Fault.PENDING_THEN_SUCCEEDED if phase is Phase.DELIVERED else None

        before = self._table._numbers
        reply = self._change(Arrival(call, "", request, 1), at)
        if self._table._numbers > before:
            due_ns = self._now() + settles_ns
            self.shelf.put(OPEN, reply.reference, {"call": call, "key": request.key, "due_ns": due_ns})
        return reply

    def _accept(self, arrival: Arrival, will_succeed: bool, now_ns: int) -> str:
        """What could not be done now is refused now. What is accepted may still be refused when it settles."""
        if failed := self.would_refuse(arrival.request):
            raise failed
        return super()._accept(self._placed(arrival, f"{self.name}-{self._table._numbers + 1}"), will_succeed, now_ns)

    def _write(self, arrival: Arrival, change: Change, reference: str) -> str:
        return super()._write(self._placed(arrival, reference), change, reference)

    @staticmethod
    def _placed(arrival: Arrival, reference: str) -> Arrival:
        """A label that its buyer gave no reference is found under its own id."""
        request = arrival.request
        return arrival if request.target else arrival._replace(request=request._replace(target=reference))

    def _check_voidable(self, label: str) -> None:
        row, view = self._label(label), self.view(label)
        if row.is_standing and self._last_refund(label).get("status") == SUBMITTED:
            raise Refused(409, "refund-submitted", "a refund of this label is on its way", label=view)
        if not row.is_standing:
            code = "already-undone" if self.status(row) == VOIDED else f"label-{self.status(row)}"
            raise Refused(409, code, "this label has nothing to refund", label=view)
        if self.scanned_ns(label) is not None:
            raise Refused(409, "label-scanned", "the carrier has the parcel: no refund any more", label=view)

    def _is_early(self, row: Row) -> bool:
        """Is it a refund that was asked for before the carrier knew the label?"""
        if row.action != VOID:
            return False
        return row.made_ns < self._label(str(dict(row.params)["reference"])).settled_ns + self.early_ns

    def _why(self, label: str, status: str) -> str:
        if status == REFUNDED:
            return ""
        return "the carrier has scanned it" if self.scanned_ns(label) is not None else "the carrier refused"

    def _refund(self, label: str, moment: Mapping[str, Any]) -> None:
        sheet = self.shelf.get(SHEET, label)
        self.shelf.put(SHEET, label, {**sheet, "refunds": [*sheet["refunds"], moment]})

    def _last_refund(self, label: str) -> Mapping[str, Any]:
        refunds = self.shelf.get(SHEET, label)["refunds"]
        return refunds[-1] if refunds else {}

    # Reading.

    def _label(self, label: str) -> Row:
        row = self._table.get(label)
        if row is None or row.action != BUY:
            raise missing("label", label)
        return row

    def row(self, reference: str) -> Row:
        """What was accepted under this reference."""
        row = self._table.get(reference)
        assert row is not None, f"nothing was accepted under {reference}"
        return row

    def target_of(self, label: str) -> str:
        """The reference its buyer gave it, or its own id. Raises Refused for an unknown one."""
        return self._label(label).target

    def status(self, row: Row, at_ns: int | None = None) -> str:
        """What became of the purchase."""
        moment_ns = self._now() if at_ns is None else at_ns
        if row.settled_ns > moment_ns:
            return FAILED if row.gone_ns <= moment_ns else QUEUED
        return VOIDED if row.undone_ns <= moment_ns else PURCHASED

    def view(self, label: str, at_ns: int | None = None) -> View | None:
        """The label as it read at that moment (None: now), or None if there was none."""
        row, sheet = self._table.get(label), self.shelf.get(SHEET, label)
        moment_ns = self._now() if at_ns is None else at_ns
        if row is None or sheet is None or row.made_ns > moment_ns:
            return None
        refunds = [moment for moment in sheet["refunds"] if moment["at_ns"] <= moment_ns]
        tracking = [moment for moment in sheet["tracking"] if moment["at_ns"] <= moment_ns]
        is_bought = row.settled_ns <= moment_ns
        return {
            "id": label,
            "reference": row.target,
            "operation": row.operation,
            "status": self.status(row, moment_ns),
            "service": sheet["service"],
            "amount": sheet["amount"],
            "currency": CURRENCY,
            "tracking_code": f"TEST{label.rpartition('-')[2]:0>12}" if is_bought else None,
            "tracking_status": tracking[-1]["status"] if tracking else PRE_TRANSIT,
            "tracking": tracking,
            "refund_status": refunds[-1]["status"] if refunds else None,
            "refund_reason": refunds[-1].get("reason") or None if refunds else None,
            "made_ns": row.made_ns,
        }

    def views(self, at_ns: int | None = None, reference: str | None = None) -> Iterator[View]:
        """Labels, oldest first; of one reference if it is said."""
        rows = list(self._table) if reference is None else self._table.at(BUY, reference)
        ids = [row.reference for row in rows if row.action == BUY]
        return (view for id_ in ids if (view := self.view(id_, at_ns)) is not None)
