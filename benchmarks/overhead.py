"""What the harness adds to a run in which nothing goes wrong, and which of its parts adds it (goals G1 and G2).

The subjects are nested: bare, then on the rig with recording, then its history encoded, then judged; at last examined as a
campaign does it, packed and written too. Differences of neighbours are the price of a part.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.finding import Finding, Section
from benchmarks.rounds import Timed, interleaved
from benchmarks.subjects import Pair, onboarding, pair
from harness.campaign.bench import Bench, BenchSpec
from harness.campaign.memory import settle
from harness.candidates.loading import REFERENCE
from harness.explore.singles import variant_of
from harness.store.history_file import encode_header

GOAL = 1.15
CALLS = 5
MS, US = 1e3, 1e6


def measure(rounds: int) -> Section:
    both = pair(onboarding())
    with tempfile.TemporaryDirectory(prefix="knownstate-bench-") as folder:
        return _measured(both, Path(folder), rounds)


def _measured(both: Pair, folder: Path, rounds: int) -> Section:
    spec = BenchSpec(REFERENCE, both.scenario, None, "simulation", str(folder))
    bench = Bench(spec, folder / "part.jsonl.gz")
    settle()  # as every process of a campaign does; both sides gain by it
    known = frozenset(variant_of(path, facts) for path, facts in both.rig.run(both.control).sites.items())
    try:
        timed = interleaved(
            {
                "bare": both.bare.run,
                "hooks": lambda: both.rig.run(both.control),
                "kept": lambda: both.kept(both.control),
                "judged": lambda: both.judged(both.control),
                "examined": lambda: bench.examine(both.control, known),
            },
            rounds,
            calls=CALLS,
        )
        return Section(
            f"Control run of {both.scenario.id} against the bare candidate", _findings(timed), _notes(both, timed)
        )
    finally:
        bench.close()
        both.close()


def _findings(timed: dict[str, Timed]) -> tuple[Finding, ...]:
    bare = timed["bare"]
    names = (
        ("hooks", "rig and recording"),
        ("kept", "  + history encoded"),
        ("judged", "  + judged: the whole harness"),
    )
    ratios = [Finding(name, "x", timed[key].ratio_best(bare), timed[key].ratio_median(bare)) for key, name in names]
    whole = ratios.pop()
    ratios.append(Finding(whole.name, "x", whole.best, whole.median, GOAL))
    examined = timed["examined"]
    packed = Finding("  + packed, hashed, written", "x", examined.ratio_best(bare), examined.ratio_median(bare))
    return (Finding("bare run", "ms", bare.best * MS, bare.median * MS), *ratios, packed)


def _notes(both: Pair, timed: dict[str, Timed]) -> tuple[str, ...]:
    ran = both.rig.run(both.control)
    commits, calls = both.bare.work_done()
    added = [
        (timed[after].best - timed[before].best) * US
        for before, after in (("bare", "hooks"), ("hooks", "kept"), ("kept", "judged"))
    ]
    header = len(encode_header(ran.history.header))
    return (
        f"{commits} transactions, {calls} calls, {ran.crossings} crossings, {len(ran.history.events)} events.",
        f"Added by the rig {added[0]:.0f} us ({added[0] / ran.crossings:.1f} us a crossing), by encoding {added[1]:.0f} us "
        f"(the header alone has {header} bytes), by judging {added[2]:.0f} us.",
    )
