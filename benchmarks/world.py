"""What a fresh world costs before anything runs in it (goal G3): the store as `prepare` left it, and new providers."""

from __future__ import annotations

from benchmarks.finding import Finding, Section
from benchmarks.rounds import interleaved
from benchmarks.subjects import onboarding, pair

GOAL_US = 25.0
CALLS = 200
US = 1e6


def measure(rounds: int) -> Section:
    both = pair(onboarding())
    try:
        timed = interleaved(
            {
                "store": both.rig.fresh_world,
                "run": lambda: both.rig.begin(both.control),
            },
            rounds,
            calls=CALLS,
        )
    finally:
        both.close()
    store, run = timed["store"], timed["run"]
    rest = [whole - part for whole, part in zip(run.seconds, store.seconds, strict=True)]
    return Section(
        "A fresh world",
        (
            Finding("store restored from the template", "us", store.best * US, store.median * US, GOAL_US),
            Finding("store, providers, clock and plan", "us", run.best * US, run.median * US),
            Finding("  of it all but the store", "us", min(rest) * US, sorted(rest)[len(rest) // 2] * US),
        ),
    )
