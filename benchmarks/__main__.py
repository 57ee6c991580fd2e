"""`python -m benchmarks`: measures, prints the table, ends with 0 whatever it finds. A goal that is missed is a finding."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.finding import Section, as_json, table

QUESTIONS = {
    "overhead": "the harness on a run without faults",
    "world": "a fresh world",
    "sweep": "every single fault",
    "growth": "longer workflows",
    "shell": "whole processes",
    "faces": "the fakes on the wire, against the bare framework",
    "keyed": "ten thousand keyed requests through resets and crashes",
}
"""Name -> what is asked. Each is a module of this folder with `measure(rounds) -> Section`."""
ROUNDS = 30


def main(arguments: Sequence[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    sections: list[Section] = []
    for line in table(_measured(options.only or list(QUESTIONS), options.rounds, sections)):
        print(line, flush=True)
    if options.json is not None:
        options.json.write_text(as_json(sections), encoding="utf-8")


def _measured(names: Sequence[str], rounds: int, kept: list[Section]) -> Iterator[Section]:
    """Each section as soon as it is measured; they are kept for whoever wants them all."""
    for name in names:
        module = importlib.import_module(f"benchmarks.{name}")
        kept.append(module.measure(rounds))
        yield kept[-1]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, as ratios within one run.")
    listed = ", ".join(f"{name} ({what})" for name, what in QUESTIONS.items())
    parser.add_argument("only", nargs="*", type=_question, metavar="QUESTION", help=f"of: {listed}; all if none")
    parser.add_argument(
        "--rounds", type=_rounds, default=ROUNDS, metavar="N", help=f"interleaved rounds (default {ROUNDS})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE too")
    return parser


def _question(text: str) -> str:
    if text not in QUESTIONS:
        raise argparse.ArgumentTypeError(f"there is no question {text!r}; there are {', '.join(QUESTIONS)}")
    return text


def _rounds(text: str) -> int:
    count = int(text)
    if not 1 <= count <= 1000:
        raise argparse.ArgumentTypeError(f"{count} rounds are not between 1 and 1000")
    return count


if __name__ == "__main__":
    main()
