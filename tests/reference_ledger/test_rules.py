"""The decisions of the ledger one by one, each beside its nearest neighbour that is decided the other way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.cell import KEY_TTL_NS, SECOND_NS
from harness.model.errors import ProviderFailure
from harness.model.lifecycle import State, WorkflowState
from harness.model.wire import FoundRecord, ProviderTraits, Reply
from harness.model.workflow import Operation, RecoveryClass, RecoveryPolicy, Workflow
from reference_ledger.records import Flow, Record
from reference_ledger.rules import OBSERVATIONS_MAX, PENDING_WAITS_MAX, Next, Refusal, Rules, Seen

RULES = Rules()
NOW = 1000 * SECOND_NS
TIMEOUT = 5 * SECOND_NS
LEASE = 30 * SECOND_NS
IN_DOUBT, TRY_AGAIN, FOR_GOOD = Refusal(in_doubt=True), Refusal(try_again=True), Refusal(for_good=True)


def operation(name: str, **fields: object) -> Operation:
    made = Operation(name, "payment", "charge", f"target-{name}", {}, RecoveryClass.COMPENSATABLE, "refund")
    return replace(made, **fields)  # type: ignore[arg-type]  # the caller names fields of Operation


def record(name: str = "charge", state: State = State.OUTCOME_UNKNOWN, **fields: object) -> Record:
    made = Record(name, operation(name.removeprefix("undo.")), f"w:{name}:v1", 0, state, attempts=1, first_sent=NOW)
    return replace(made, **fields)  # type: ignore[arg-type]  # the caller names fields of Record


def flow(*records: Record, cancelled: int = 0, failed: int = 0) -> Flow:
    workflow = Workflow("w", tuple(r.op for r in records if not r.is_undo))
    by_id = {r.id: r for r in records}
    return Flow(workflow, WorkflowState.RUNNING, 1, lease_until=NOW, cancelled=cancelled, failed=failed, records=by_id)


def traits(cell: str) -> ProviderTraits:
    key, lookup, late = cell.split(".")
    return ProviderTraits("payment", key, lookup, late, KEY_TTL_NS, TIMEOUT)


def found(*standing: bool, pending: bool = False) -> Reply:
    return Reply(
        found=tuple(FoundRecord("payment-1", "charge", "charge", is_standing, pending) for is_standing in standing)
    )


# --- identity and sending ------------------------------------------------------------------------------------------


def test_a_key_says_what_the_action_is_and_nothing_of_its_attempt() -> None:
    first, later = record(attempts=1), record(attempts=3)
    assert RULES.key_to_send(first) == RULES.key_to_send(later) == "w:charge:v1"


def test_keys_differ_by_workflow_operation_and_intent_version() -> None:
    keys = {RULES.key("w", "a", 1), RULES.key("v", "a", 1), RULES.key("w", "b", 1), RULES.key("w", "a", 2)}
    assert len(keys) == 4


def test_the_intention_comes_first() -> None:
    assert RULES.intent_first()


@pytest.mark.parametrize(
    ("timeout", "lease", "expires", "deadline"),
    [
        (TIMEOUT, LEASE, 0, NOW + TIMEOUT),
        (LEASE + 1, LEASE, 0, NOW + LEASE),
        (TIMEOUT, LEASE, NOW + 1, NOW + 1),
        (TIMEOUT, LEASE, NOW + TIMEOUT + 1, NOW + TIMEOUT),
    ],
    ids=["time-out", "lease", "approval", "approval outlives the time-out"],
)
def test_a_deadline_is_the_first_of_time_out_lease_and_approval(
    timeout: int, lease: int, expires: int, deadline: int
) -> None:
    assert RULES.deadline(NOW, timeout, lease, record(approval_expires=expires)) == deadline


@pytest.mark.parametrize(
    ("state", "resolution", "may"),
    [
        (State.VERIFIED, "", True),
        (State.RECONCILED, "committed", True),
        (State.RECONCILED, "not-committed", False),
        (State.COMMITTED, "", False),
        (State.OUTCOME_UNKNOWN, "", False),
        (State.COMPENSATED, "", False),
    ],
)
def test_a_child_starts_only_when_its_parent_is_known_to_stand(state: State, resolution: str, may: bool) -> None:
    parent = record("parent", state, resolution=resolution)
    child = record("child", State.PREPARED, op=operation("child", depends_on=("parent",)))
    assert RULES.may_start(flow(parent, child), child) is may


def test_a_child_waits_for_all_its_parents() -> None:
    ready, waiting = record("a", State.VERIFIED), record("b", State.COMMITTED)
    child = record("c", State.PREPARED, op=operation("c", depends_on=("a", "b")))
    assert not RULES.may_start(flow(ready, waiting, child), child)


@pytest.mark.parametrize(("approval", "now", "usable"), [("a", NOW - 1, True), ("a", NOW, False), ("", NOW - 1, False)])
def test_an_approval_is_used_once_consumed_and_before_it_expires(approval: str, now: int, usable: bool) -> None:
    assert RULES.approval_usable(record(approval=approval, approval_expires=NOW), now) is usable


@pytest.mark.parametrize(
    ("cell", "waits"),
    [
        ("ignored.authoritative.prompt", True),
        ("ignored.authoritative.late", False),
        ("ignored.eventual.prompt", False),
        ("ignored.absent.prompt", False),
    ],
)
def test_it_waits_for_the_deadline_only_where_that_makes_absence_provable(cell: str, waits: bool) -> None:
    assert RULES.waits_for_deadline(traits(cell)) is waits


# --- what an answer means ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "doubted", "attempts", "refusal"),
    [
        ("timeout", 0, 1, IN_DOUBT),
        ("unheard-of", 0, 1, IN_DOUBT),
        ("already-exists", 0, 1, IN_DOUBT),
        ("rate-limited", 0, 1, TRY_AGAIN),
        ("rate-limited", 1, 1, IN_DOUBT),
        ("rate-limited", 0, 3, FOR_GOOD),
        ("connection-refused", 0, 2, TRY_AGAIN),
        ("declined", 0, 1, FOR_GOOD),
        ("declined", 1, 2, IN_DOUBT),
        ("key-reused", 0, 1, FOR_GOOD),
        ("stale-fence", 0, 1, FOR_GOOD),
    ],
)
def test_a_refusal_is_a_no_only_if_it_is_definite_and_nothing_earlier_is_open(
    code: str, doubted: int, attempts: int, refusal: Refusal
) -> None:
    assert RULES.refusal(record(doubted=doubted, attempts=attempts), ProviderFailure(code)) == refusal


def test_an_undo_has_attempts_of_its_own() -> None:
    policy = RecoveryPolicy(attempts_max=1, compensation_attempts_max=2)
    original = record(attempts=1, op=operation("charge", policy=policy))
    undo = record("undo.charge", attempts=1, op=original.op)
    assert RULES.refusal(original, ProviderFailure("rate-limited")) == FOR_GOOD
    assert RULES.refusal(undo, ProviderFailure("rate-limited")) == TRY_AGAIN


def test_a_receipt_is_proof_only_where_nothing_can_be_looked_up() -> None:
    assert RULES.is_done(record(), Reply("payment-1"), traits("honoured.absent.late"))
    assert not RULES.is_done(record(), Reply("payment-1"), traits("honoured.eventual.late"))


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        (found(True), Seen.ONE),
        (found(True, True), Seen.MANY),
        (found(False, True), Seen.ONE),
        (found(False), Seen.PROVED_ABSENT),
        (found(), Seen.PROVED_ABSENT),
        (found(False, pending=True), Seen.PENDING),
        (Reply(complete=False), Seen.FAILED),
        (found(True)._replace(complete=False), Seen.FAILED),
    ],
)
def test_an_observation_says_what_stands(reply: Reply, seen: Seen) -> None:
    assert RULES.seen(record(not_after=NOW - 1), reply, traits("ignored.authoritative.prompt"), NOW) is seen


@pytest.mark.parametrize(
    ("cell", "not_after", "seen"),
    [
        ("ignored.authoritative.prompt", NOW - 1, Seen.PROVED_ABSENT),
        ("ignored.authoritative.prompt", NOW, Seen.NOTHING),
        ("ignored.authoritative.late", NOW - 1, Seen.NOTHING),
        ("ignored.eventual.prompt", NOW - 1, Seen.NOTHING),
    ],
)
def test_not_found_is_proof_only_of_an_authoritative_read_after_the_deadline(
    cell: str, not_after: int, seen: Seen
) -> None:
    assert RULES.seen(record(not_after=not_after), found(), traits(cell), NOW) is seen


# --- doubt ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen", "cell", "observations", "following"),
    [
        (Seen.ONE, "ignored.absent.late", 1, Next.IS_COMMITTED),
        (Seen.MANY, "honoured.authoritative.prompt", 1, Next.ASK_A_PERSON),
        (Seen.PROVED_ABSENT, "ignored.authoritative.prompt", 1, Next.IS_NOT_COMMITTED),
        (Seen.PENDING, "honoured.authoritative.late", PENDING_WAITS_MAX - 1, Next.LOOK_AGAIN),
        (Seen.PENDING, "honoured.authoritative.late", PENDING_WAITS_MAX, Next.ASK_A_PERSON),
        (Seen.NOTHING, "honoured.eventual.late", 1, Next.SEND_AGAIN),
        (Seen.NOTHING, "ignored.eventual.late", 1, Next.LOOK_AGAIN),
        (Seen.NOTHING, "ignored.eventual.late", OBSERVATIONS_MAX, Next.ASK_A_PERSON),
        (Seen.FAILED, "honoured.eventual.late", 1, Next.LOOK_AGAIN),
        (Seen.FAILED, "honoured.eventual.late", OBSERVATIONS_MAX, Next.SEND_AGAIN),
        (Seen.FAILED, "ignored.eventual.late", OBSERVATIONS_MAX, Next.ASK_A_PERSON),
        (Seen.FAILED, "honoured.absent.late", 1, Next.SEND_AGAIN),
        (Seen.FAILED, "ignored.absent.late", 1, Next.ASK_A_PERSON),
    ],
)
def test_an_operation_in_doubt_is_observed_first_and_acted_on_second(
    seen: Seen, cell: str, observations: int, following: Next
) -> None:
    there = record(observations=observations)
    assert RULES.resolve(flow(there), there, seen, traits(cell), NOW) is following


HONOURED = traits("honoured.absent.late")


def test_it_sends_again_under_an_honoured_key() -> None:
    assert RULES.may_send_again(flow(record()), record(), HONOURED, NOW)
    assert not RULES.may_send_again(flow(record()), record(), traits("ignored.absent.late"), NOW)


def test_it_sends_again_within_the_policy() -> None:
    spent = record(attempts=RecoveryPolicy().attempts_max)
    assert not RULES.may_send_again(flow(spent), spent, HONOURED, NOW)


def test_it_sends_again_only_what_is_still_wanted() -> None:
    there, undo = record(), record("undo.charge")
    assert not RULES.may_send_again(flow(there, cancelled=1), there, HONOURED, NOW)
    assert not RULES.may_send_again(flow(there, failed=1), there, HONOURED, NOW)
    assert RULES.may_send_again(flow(there, undo, cancelled=1), undo, HONOURED, NOW), "an undo is wanted all the more"


def test_it_sends_again_only_under_a_living_approval() -> None:
    there = record(approval="a", approval_expires=NOW)
    assert RULES.may_send_again(flow(there), there, HONOURED, NOW - 1)
    assert not RULES.may_send_again(flow(there), there, HONOURED, NOW)


def test_a_key_is_honoured_until_a_request_could_outlive_it() -> None:
    expiring = traits("expires.absent.prompt")
    last = NOW + KEY_TTL_NS - TIMEOUT - 1
    assert RULES.key_is_honoured(record(), expiring, last)
    assert not RULES.key_is_honoured(record(), expiring, last + 1)
    assert RULES.key_is_honoured(record(), traits("honoured.absent.late"), NOW + 100 * KEY_TTL_NS)
    assert not RULES.key_is_honoured(record(), traits("ignored.absent.late"), NOW)


def test_a_key_that_lapses_promises_nothing_where_requests_may_be_late() -> None:
    assert RULES.key_is_honoured(record(), traits("expires.absent.prompt"), NOW)
    assert not RULES.key_is_honoured(record(), traits("expires.absent.late"), NOW)


@pytest.mark.parametrize(
    ("name", "attempts", "cancelled", "state"),
    [
        ("charge", 1, 0, State.PREPARED),
        ("charge", 3, 0, State.RECONCILED),
        ("charge", 1, 1, State.RECONCILED),
        ("undo.charge", 1, 1, State.PREPARED),
        ("undo.charge", 3, 1, State.RECONCILED),
    ],
)
def test_what_is_proved_absent_is_tried_again_while_wanted_and_allowed(
    name: str, attempts: int, cancelled: int, state: State
) -> None:
    there = record(name, attempts=attempts)
    assert RULES.after_absence(flow(record(), there, cancelled=cancelled), there) is state


# --- undoing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "resolution", "must"),
    [
        (State.VERIFIED, "", True),
        (State.RECONCILED, "committed", True),
        (State.RECONCILED, "not-committed", False),
        (State.PREPARED, "", False),
        (State.COMPENSATED, "", False),
    ],
)
def test_what_stands_has_to_be_undone(state: State, resolution: str, must: bool) -> None:
    assert RULES.must_undo(record(state=state, resolution=resolution)) is must


def test_among_the_free_the_last_is_undone_first() -> None:
    waiting = [record(name, State.COMPENSATION_REQUIRED) for name in ("a", "b", "c")]
    assert RULES.undo_next(flow(*waiting), waiting) is waiting[2]


@pytest.mark.parametrize("state", [State.COMPENSATION_REQUIRED, State.COMPENSATING, State.VERIFIED, State.COMPENSATED])
def test_an_undo_waits_for_those_that_must_come_before_it(state: State) -> None:
    before = record("a", state, op=operation("a", must_compensate_before=("c",)))
    others = [record(name, State.COMPENSATION_REQUIRED) for name in ("b", "c")]
    last = RULES.undo_next(flow(before, *others), others)
    assert last is (others[1] if state is State.COMPENSATED else others[0])


def test_a_circle_of_waiting_undos_has_no_next() -> None:
    circle = [
        record(name, State.COMPENSATION_REQUIRED, op=operation(name, must_compensate_before=(other,)))
        for name, other in (("a", "b"), ("b", "a"))
    ]
    assert RULES.undo_next(flow(*circle), circle) is None


@pytest.mark.parametrize(
    ("fields", "can"),
    [
        ({}, True),
        ({"undo": None}, False),
        ({"policy": RecoveryPolicy(automatic_compensation_allowed=False)}, False),
        ({"recovery_class": RecoveryClass.IRREVERSIBLE}, False),
        ({"recovery_class": RecoveryClass.UNKNOWN}, True),
    ],
)
def test_only_what_has_an_undo_that_may_run_by_itself_is_undone(fields: dict[str, object], can: bool) -> None:
    assert RULES.can_undo(record(op=operation("charge", **fields))) is can


def test_an_undo_that_fails_leaves_a_failed_compensation() -> None:
    assert RULES.undo_failed() is State.COMPENSATION_FAILED


# --- the end -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", State)
def test_it_halts_for_a_person_where_nothing_more_can_be_found_out(state: State) -> None:
    halted = RULES.must_halt(flow(record("a", State.VERIFIED), record("b", state)))
    assert (halted is not None) is (state in (State.RECONCILIATION_REQUIRED, State.COMPENSATION_FAILED))


def test_a_halted_workflow_is_unknown_unless_it_has_failed_or_was_cancelled() -> None:
    stuck = record(state=State.RECONCILIATION_REQUIRED)
    assert RULES.halted_label(flow(stuck)) is WorkflowState.UNKNOWN
    assert RULES.halted_label(flow(stuck, failed=1)) is WorkflowState.FAILED_RECONCILIATION_REQUIRED
    assert RULES.halted_label(flow(stuck, cancelled=1)) is WorkflowState.FAILED_RECONCILIATION_REQUIRED


ABSENT = record("absent", State.RECONCILED, resolution="not-committed")
LOOKED_FOR = record("looked", State.RECONCILED, resolution="not-committed", observations=1)
UNDONE = record("undone", State.COMPENSATED)
IRREVERSIBLE = record("sent", State.IRREVERSIBLE_EFFECT)


@pytest.mark.parametrize(
    ("records", "label"),
    [
        ((ABSENT,), WorkflowState.FAILED_CLEAN),
        ((ABSENT, LOOKED_FOR), WorkflowState.FAILED_RECONCILED),
        ((ABSENT, LOOKED_FOR, UNDONE), WorkflowState.FAILED_COMPENSATED),
        ((ABSENT, LOOKED_FOR, UNDONE, IRREVERSIBLE), WorkflowState.FAILED_WITH_IRREVERSIBLE_EFFECT),
    ],
)
def test_a_failed_workflow_is_named_after_its_strongest_remainder(
    records: tuple[Record, ...], label: WorkflowState
) -> None:
    assert RULES.failed_label(flow(*records, failed=1)) is label
