"""What a person waits for at the shell (goal G11): the version, and a run's first verdict. Whole processes, wall time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.finding import Finding, Section
from benchmarks.rounds import Timed, interleaved, wall

VERSION_GOAL_MS = 80.0
VERDICT_GOAL_MS = 1500.0
PROCESS_S_MAX = 60.0
FIRST_VERDICT = "control:"
"""How the line begins that `knownstate run` prints when the control run has been judged."""
MS = 1e3


def measure(rounds: int) -> Section:
    script = console_script()
    if script is None:
        return _absent("The console script `knownstate` is not installed beside this interpreter.")
    try:
        timed = interleaved(
            {"python": lambda: _finish(sys.executable, "-c", "pass"), "version": lambda: _finish(script, "--version")},
            rounds,
            clock=wall,
        )
        verdict = _first_verdicts(script, max(3, rounds // 4))
    except OSError as error:
        return _absent(f"The console script does not start: {error}.")
    except subprocess.CalledProcessError as error:
        return _absent(f"`{' '.join(map(str, error.cmd))}` ended with exit code {error.returncode}.")
    return Section(
        "At the shell",
        _findings(timed, verdict),
        ("Whole processes in wall time; the start of Python is part of each.",),
    )


def console_script() -> str | None:
    """The `knownstate` of this interpreter's environment, else the one on the path."""
    beside = Path(sys.executable).with_name("knownstate")
    return str(beside) if beside.exists() else shutil.which("knownstate")


def _absent(why: str) -> Section:
    names = (("knownstate --version", VERSION_GOAL_MS), ("knownstate run pair: first verdict", VERDICT_GOAL_MS))
    return Section("At the shell", tuple(Finding(name, "ms", None, None, goal) for name, goal in names), (why,))


def _findings(timed: dict[str, Timed], verdict: Timed) -> tuple[Finding, ...]:
    python, version = timed["python"], timed["version"]
    return (
        Finding("python -c pass", "ms", python.best * MS, python.median * MS),
        Finding("knownstate --version", "ms", version.best * MS, version.median * MS, VERSION_GOAL_MS),
        Finding("  against python -c pass", "x", version.ratio_best(python), version.ratio_median(python)),
        Finding("knownstate run pair: first verdict", "ms", verdict.best * MS, verdict.median * MS, VERDICT_GOAL_MS),
    )


def _finish(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=PROCESS_S_MAX)


def _first_verdicts(script: str, rounds: int) -> Timed:
    with tempfile.TemporaryDirectory(prefix="knownstate-bench-") as folder:
        return Timed(tuple(_first_verdict(script, Path(folder) / str(number)) for number in range(rounds)))


def _first_verdict(script: str, out: Path) -> float:
    """Seconds from the start of the process to the line with the control run's verdict; the rest is cut off."""
    command = [script, "run", "pair", "--out", str(out)]
    started = wall()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None, "stdout is a pipe"
        for line in process.stdout:
            if line.lstrip().startswith(FIRST_VERDICT):
                seconds = wall() - started
                process.kill()
                return seconds
    raise subprocess.CalledProcessError(process.returncode, command)
