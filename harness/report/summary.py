"""What every renderer says alike: the verdict in one sentence, coverage, counts per guarantee, replay commands.

Here: pure readings of a CampaignResult. Never here: markup, colours or layout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.result import CampaignResult, Failure, RunRow
from harness.model.verdict import Outcome, Verdict
from harness.report import words

_RANK = {Outcome.VIOLATED: 0, Outcome.UNKNOWN: 1, Outcome.HOLDS: 2}


@dataclass(frozen=True, slots=True)
class GuaranteeCount:
    """One guarantee over all runs.

    `statement` is "" for a verdict about the run itself (a fault that did not fire, for instance).
    """

    id: str
    statement: str
    holds: int
    violated: int
    unknown: int

    @property
    def outcome(self) -> Outcome:
        if self.violated:
            return Outcome.VIOLATED
        return Outcome.UNKNOWN if self.unknown or not self.holds else Outcome.HOLDS


def worst(outcomes: list[Outcome]) -> Outcome:
    """A violation outranks unknown, unknown outranks holds; nothing at all is unknown."""
    return min(outcomes, key=_RANK.__getitem__, default=Outcome.UNKNOWN)


def scenario_id(result: CampaignResult) -> str:
    return str(result.scenario.get("id", "scenario"))


def title(result: CampaignResult) -> str:
    return str(result.scenario.get("title") or scenario_id(result))


def count_guarantees(result: CampaignResult) -> tuple[GuaranteeCount, ...]:
    """Counts over the runs, those judged first and in their order, then verdicts about runs themselves."""
    counts: dict[str, Counter[Outcome]] = {name: Counter() for name in result.guarantees}
    for row in result.rows:
        for name, outcome in _outcomes(row, result.guarantees).items():
            counts.setdefault(name, Counter())[outcome] += 1
    return tuple(
        GuaranteeCount(name, result.guarantees.get(name, ""), *(found[outcome] for outcome in Outcome))
        for name, found in counts.items()
    )


def _outcomes(row: RunRow, judged: Mapping[str, str]) -> dict[str, Outcome]:
    """A row's outcome per guarantee.

    A run that is void as a whole says nothing of a guarantee: unknown, never holds.
    """
    said: dict[str, list[Outcome]] = {}
    for verdict in row.verdicts:
        said.setdefault(verdict.guarantee, []).append(verdict.outcome)
    void = not row.fired or (row.outcome is Outcome.UNKNOWN and not said.keys() & judged.keys())
    silent = Outcome.UNKNOWN if void else Outcome.HOLDS
    return dict.fromkeys(judged, silent) | {name: worst(outcomes) for name, outcomes in said.items()}


def verdict_sentence(result: CampaignResult) -> str:
    """The campaign's verdict in one sentence."""
    broken = [count.id for count in count_guarantees(result) if count.violated]
    violated = sum(row.outcome is Outcome.VIOLATED for row in result.rows)
    runs = words.plural(len(result.rows), "run")
    match result.outcome:
        case Outcome.VIOLATED:
            which = (
                f"{_some(broken)} {'is' if len(broken) == 1 else 'are'} broken" if broken else "The control run fails"
            )
            return f"{which} in {violated:,} of {runs}." if broken else f"{which} without any fault."
        case Outcome.UNKNOWN:
            open_runs = sum(row.outcome is Outcome.UNKNOWN for row in result.rows)
            return f"Inconclusive: no violation was found, and {open_runs:,} of {runs} could not be judged."
        case _:
            return f"All {words.plural(len(result.guarantees), 'guarantee')} that could be judged hold in {runs}."


def exit_sentence(result: CampaignResult) -> str:
    """The exit code and what it means."""
    meaning = words.EXIT_MEANINGS.get(result.exit_code, "not a code of this program")
    if result.exit_code == 0 and result.outcome is Outcome.VIOLATED:
        meaning = "the violation the scenario expects was found"
    return f"Exit code {result.exit_code}: {meaning}."


def coverage_sentence(result: CampaignResult) -> str:
    """`Explored 412 of 412 schedules; every fault fired.`"""
    cover = result.coverage
    fired = (
        "every fault fired"
        if cover.fired == cover.explored
        else f"faults fired in {cover.fired:,} of {cover.explored:,}"
    )
    return f"Explored {cover.explored:,} of {words.plural(cover.total, 'schedule')}; {fired}."


def boundaries_sentence(result: CampaignResult) -> str:
    cover = result.coverage
    found = "boundary was" if cover.boundaries == 1 else "boundaries were"
    return (
        f"{cover.boundaries:,} {found} found in {words.plural(cover.rounds, 'round')} of discovery; "
        f"{cover.recovery_boundaries:,} of them exist only on recovery paths."
    )


def control_sentence(result: CampaignResult) -> str:
    """What the run without any fault came to, with the reason when it did not hold."""
    why = _reasons(result.control_verdicts)
    match result.control:
        case Outcome.HOLDS:
            return "The control run, without any fault, holds: what is shown here comes from the faults."
        case Outcome.VIOLATED:
            return f"The control run fails without any fault, so no fault is to blame: {why}."
        case _:
            return f"The control run could not be judged, so nothing here is certain: {why}."


def ending_sentence(result: CampaignResult) -> str:
    """Why the campaign ended: a sentence."""
    text = words.ENDINGS.get(result.ended, result.ended)
    return text[:1].upper() + text[1:] + "."


def left_out(result: CampaignResult) -> tuple[str, ...]:
    """Sentences on what was not explored, never empty: it says so when nothing was left out."""
    missing = result.coverage.total - result.coverage.explored
    first = (f"{words.plural(missing, 'schedule')} of {result.coverage.total:,} not run.",) if missing else ()
    ended = () if result.ended == "complete" else (ending_sentence(result),)
    return (*ended, *first, *result.coverage.left_out) or ("Nothing: every schedule known to apply was run.",)


def untold_sentence(result: CampaignResult) -> str:
    """How many failing runs no failure stands for, since only so many are told; "" when every one is."""
    violated = sum(row.outcome is Outcome.VIOLATED for row in result.rows)
    told = sum(failure.rows for failure in result.failures)
    if told >= violated:
        return ""
    return f"The failures told here stand for {told:,} of {violated:,} failing runs; the others are rows only."


def failure_sentence(failure: Failure) -> str:
    """One failing run in one sentence: where, what, and how often."""
    what = f"{words.struck(failure.fault)} ({words.place(failure.boundary)})" if failure.fault else "without any fault"
    broken = [v.guarantee for v in failure.verdicts if v.outcome is Outcome.VIOLATED]
    result = (
        f"{_some(broken)} {'is' if len(broken) == 1 else 'are'} broken" if broken else "the run could not be judged"
    )
    lead = f"When {what}, {result}" if failure.fault else f"{result} {what}"
    more = f"; {words.plural(failure.rows, 'run')} of this kind" if failure.rows > 1 else ""
    return lead[:1].upper() + lead[1:] + more + "."


def failures_by_schedule(result: CampaignResult) -> dict[str, Failure]:
    return {failure.schedule: failure for failure in result.failures}


def replay_of(result: CampaignResult, row: RunRow) -> str:
    """The command that replays this run, made from that of a failure whose command carries its own schedule line.

    "" if there is none.
    """
    for failure in result.failures:
        if failure.schedule == row.schedule:
            return failure.replay
    model = next((f for f in result.failures if f.schedule in f.replay), None)
    return model.replay.replace(model.schedule, row.schedule) if model else ""


def _some(names: list[str]) -> str:
    """At most three names, then how many more."""
    if len(names) == 1:
        return names[0]
    shown = names if len(names) <= 3 else [*names[:3], f"{len(names) - 3} more"]
    return ", ".join(shown[:-1]) + " and " + shown[-1]


def _reasons(verdicts: tuple[Verdict, ...]) -> str:
    bad = [f"{v.guarantee}: {words.argument(v.explanation)}" for v in verdicts if v.outcome is not Outcome.HOLDS]
    return "; ".join(bad[:3]) or "no reason was given"
