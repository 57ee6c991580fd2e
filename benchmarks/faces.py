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
    subjects: dict[str, Call] = {}
    for kind, port in ports.items():
        like = next(face for face in FACES if face.bare == kind)
        subjects[f"bare {kind}"] = like.call(like.bare_entry(port, entries[like.fake]))
    for face in FACES:
        subjects[face.name] = face.call(entries[face.fake])
    return subjects


def _findings(timed: Mapping[str, Timed]) -> tuple[Finding, ...]:
    found = [_shown(name, timed[name]) for name in timed if name.startswith("bare ")]
    for face in FACES:
        own, base = timed[face.name], timed[f"bare {face.bare}"]
        ratio = own.ratio_best(base), own.ratio_median(base)
        found.append(Finding(f"{face.name}, a call", "x", *ratio, GOAL))
    return tuple(found)


def _shown(name: str, timed: Timed) -> Finding:
    return Finding(f"{name}, a call", "us", timed.best * 1e6, timed.median * 1e6)


def _notes(timed: Mapping[str, Timed], memory: Mapping[str, float], up_s: float) -> tuple[str, ...]:
    rates = ", ".join(f"{name} {1 / each.best:.0f}" for name, each in timed.items())
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
