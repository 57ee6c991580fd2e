"""The faces of the fakes: requests a second and latency against the bare framework, memory at rest, start-up.

The yardstick of every face is a server as small as can be on the same library (hello-world on Starlette and uvicorn, a
fixed answer by dnspython, a sink on aiosmtpd), in a process of its own, called by the same client over a kept connection,
in turn. A face does what it is for: it parses, changes its state, journals it in SQLite, and answers. Wall time, since
two processes take part.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.face_requests import FACES, SETTINGS, Call
from benchmarks.finding import Finding, Section
from benchmarks.rounds import Timed, interleaved, wall

GOAL = 2.0
"""At least half the requests a second of the bare framework: at most twice its time."""
CALLS = 100
BARE_FOR = "bare for "
BARE = Path(__file__).with_name("bare_servers.py")


def measure(rounds: int) -> Section:
    from fakes.catalogue import faces
    from fakes.wire.street import Plot, Street

    started = wall()
    kinds = faces(dict.fromkeys(face.fake for face in FACES))
    plots = [Plot(kind, kind.options_class(**SETTINGS.get(name, {}))) for name, kind in kinds.items()]
    with ExitStack() as open_:
        folder = open_.enter_context(tempfile.TemporaryDirectory(prefix="knownstate-bench-"))
        street = open_.enter_context(Street(plots, Path(folder)))
        up_s = wall() - started
        memory = {name: _pss_mib(pid) for name, pid in street.pids().items()}
        key = street.entries()["dns"]["tsig"]
        extra = {"dns": (key["name"], key["secret"])}
        bare = dict.fromkeys(face.bare for face in FACES)
        ports = {kind: open_.enter_context(_bare(kind, *extra.get(kind, ()))) for kind in bare}
        timed = interleaved(_subjects(street.entries(), ports), max(3, rounds // 3), calls=CALLS, clock=wall)
    return Section("The faces of the fakes against the bare framework", _findings(timed), _notes(timed, memory, up_s))


def _subjects(entries: Mapping[str, Any], ports: Mapping[str, int]) -> dict[str, Call]:
    """Each face, and beside it the bare server, asked the very same: what the client does is the same on both sides."""
    subjects: dict[str, Call] = {}
    for face in FACES:
        subjects[face.name] = face.call(entries[face.fake])
        subjects[BARE_FOR + face.name] = face.call(face.bare_entry(ports[face.bare], entries[face.fake]))
    return subjects


def _findings(timed: Mapping[str, Timed]) -> tuple[Finding, ...]:
    found = []
    for face in FACES:
        own, base = timed[face.name], timed[BARE_FOR + face.name]
        found.append(Finding(face.name, "x", own.ratio_best(base), own.ratio_median(base), GOAL))
    like = {face.bare: face.name for face in reversed(FACES)}
    return (*(_shown(f"bare {kind}, a call", timed[BARE_FOR + name]) for kind, name in like.items()), *found)


def _shown(name: str, timed: Timed) -> Finding:
    return Finding(name, "us", timed.best * 1e6, timed.median * 1e6)


def _notes(timed: Mapping[str, Timed], memory: Mapping[str, float], up_s: float) -> tuple[str, ...]:
    rates = ", ".join(f"{face.name} {1 / timed[face.name].best:.0f}" for face in FACES)
    resting = ", ".join(f"{name} {mib:.0f}" for name, mib in memory.items())
    return (
        f"Calls a second over one connection: {rates}.",
        f"Memory at rest (MiB, proportional): {resting}. All {len(memory)} were ready {up_s:.2f} s after the first import.",
    )


@contextmanager
def _bare(kind: str, *arguments: str) -> Iterator[int]:
    """A bare server in a process of its own; its port."""
    process = subprocess.Popen([sys.executable, str(BARE), kind, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None, "stdout is a pipe"
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def _pss_mib(pid: int) -> float:
    """Proportional set size: pages shared by n processes count 1/n."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0
