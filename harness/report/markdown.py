"""Markdown: a failure report to paste into a ticket, and a summary for a pull request's job page.

Here: what was observed, what is inferred and what is suggested, kept apart. Never here: choosing what matters (`story`,
`picture`). A job page drops the whole upload when it is too long, so the summary gives up detail first: pictures, then
stories, then failures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.model.result import CampaignResult, Failure
from harness.model.verdict import Outcome
from harness.report import books, picture, summary, words
from harness.report.facts import subjects_of
from harness.report.picture import Arrow, Mark, Picture, Shape
from harness.report.redact import redacted

SUMMARY_BYTES_MAX = 900_000
FAILURES_MAX = 25
MESSAGES_MAX = 60
_SIGNS = {Outcome.HOLDS: "✅ holds", Outcome.VIOLATED: "❌ violated", Outcome.UNKNOWN: "❔ unknown"}
_ANSWERED_SHAPES = (Shape.SEND, Shape.ARRIVED)
"""Marks that an arrow tells already."""


def to_markdown(result: CampaignResult) -> str:
    """The whole report: head, guarantees, and each failure in full."""
    result = redacted(result)
    shown = result.failures[:FAILURES_MAX]
    failures = "\n".join(_failure(result, failure) for failure in shown)
    return (
        "\n".join([_head(result), failures, _more(result, len(shown)), _limits(result), _again(result)]).rstrip() + "\n"
    )


def failure_report(result: CampaignResult, failure: Failure) -> str:
    """One failure, pasteable into a ticket."""
    return _failure(redacted(result), redacted(failure))


def job_summary(result: CampaignResult, *, bytes_max: int = SUMMARY_BYTES_MAX) -> str:
    """The summary for a job page.

    At most `bytes_max` bytes of UTF-8, cut at whole failures, saying what was dropped.
    """
    result = redacted(result)
    for detail in ("picture", "story"):
        text = _summary(result, len(result.failures[:FAILURES_MAX]), detail)
        if _size(text) <= bytes_max:
            return text
    for shown in range(min(len(result.failures), FAILURES_MAX), -1, -1):
        text = _summary(result, shown, "command")
        if _size(text) <= bytes_max:
            return text
    bare = f"**{_prose(summary.verdict_sentence(result))}** {summary.exit_sentence(result)}\n"
    return bare.encode()[:bytes_max].decode(errors="ignore")


def _size(text: str) -> int:
    return len(text.encode())


def _summary(result: CampaignResult, shown: int, detail: str) -> str:
    blocks = [_folded(result, failure, detail) for failure in result.failures[:shown]]
    return "\n".join([_head(result), *blocks, _more(result, shown), _limits(result), _again(result)]).rstrip() + "\n"


def _folded(result: CampaignResult, failure: Failure, detail: str) -> str:
    parts = [
        "<details>",
        f"<summary>{_html(summary.failure_sentence(failure))}</summary>",
        "",
        _fence("sh", failure.replay),
    ]
    if detail != "command":
        parts.append(_fence("text", *failure.story))
    if detail == "picture":
        parts.append(_fence("mermaid", sequence(picture.draw(failure.events, failure.verdicts))))
    return "\n".join([*parts, "</details>", ""])


def _head(result: CampaignResult) -> str:
    lines = [
        f"## {_SIGNS[result.outcome]}: {_prose(summary.scenario_id(result))} on {_code(result.candidate)}",
        "",
        f"**{_prose(summary.verdict_sentence(result))}** {_prose(summary.exit_sentence(result))}",
        "",
        f"{summary.coverage_sentence(result)} {summary.boundaries_sentence(result)}",
        _prose(summary.control_sentence(result)),
        "",
        "| guarantee | | holds | violated | unknown |",
        "|---|---|---:|---:|---:|",
    ]
    counts = summary.count_guarantees(result)
    table = [f"| {_code(c.id)} | {_SIGNS[c.outcome]} | {c.holds} | {c.violated} | {c.unknown} |" for c in counts]
    return "\n".join([*lines, *table, ""])


def _failure(result: CampaignResult, failure: Failure) -> str:
    parts = [
        f"### {_prose(summary.failure_sentence(failure))}",
        "",
        _fence("sh", failure.replay),
        "#### Observed",
        "",
        _fence("text", *failure.story),
        *_books(failure),
        _fence("mermaid", sequence(picture.draw(failure.events, failure.verdicts))) if failure.events else "",
        "#### Inferred",
        "",
        *_inferred(failure),
        "#### Suggested",
        "",
        f"- Replay it with the command above ({_code(result.candidate)}, rig {result.rig}, seed {result.seed}).",
        *_suggested(failure),
        "",
    ]
    return "\n".join(parts)


def _books(failure: Failure) -> Iterable[str]:
    subjects = subjects_of(failure.verdicts)
    for book in books.open_books(failure.events, subjects):
        if book.in_question or len(subjects) == 0:
            yield "| the ledger's last word | the world |"
            yield "|---|---|"
            stands = "; ".join(
                f"{line.what} ({line.effect}){'' if line.stands else ', not standing'}" for line in book.effects
            )
            said = f"{book.operation}: {book.last_word or 'nothing'}"
            yield f"| {_prose(said)} | {_prose(stands or 'no effect')} |"
            yield ""


def _inferred(failure: Failure) -> Iterable[str]:
    for verdict in failure.verdicts:
        if verdict.outcome is Outcome.HOLDS:
            continue
        yield f"- {_code(verdict.guarantee)} is {'broken' if verdict.outcome is Outcome.VIOLATED else 'unknown'}:"
        yield from (
            f"  - {f'*{word}* ' if word else ''}{_prose(text)}" for word, text in words.reasoning(verdict.explanation)
        )
    yield ""


def _suggested(failure: Failure) -> Iterable[str]:
    survival = words.survival(failure.fault)
    if survival:
        yield f"- How a sound ledger survives {_code(failure.fault)}: {_prose(survival)}"


def _more(result: CampaignResult, shown: int) -> str:
    hidden = len(result.failures) - shown
    lines = [summary.untold_sentence(result)]
    if hidden > 0:
        lines.append(f"{words.plural(hidden, 'more failure')} in the folder `failures` of the campaign, left out here.")
    return "\n".join([*filter(None, lines), ""])


def _limits(result: CampaignResult) -> str:
    lines = [f"- Left out: {_prose(line)}" for line in summary.left_out(result)]
    lines += [f"- Not observable: {_code(name)}, {_prose(why)}" for name, why in result.not_observable.items()]
    return "\n".join([*lines, ""])


def _again(result: CampaignResult) -> str:
    return _fence("sh", result.command)


def sequence(image: Picture, messages_max: int = MESSAGES_MAX) -> str:
    """The picture as a Mermaid sequence diagram of at most `messages_max` messages and notes."""
    if not image.lanes:
        return "sequenceDiagram\n    Note over nobody: nothing was drawn"
    steps = sorted([*_messages(image), *_notes(image)])
    dropped = len(steps) - messages_max
    heads = [f"    participant p{index} as {_mermaid(lane.name)}" for index, lane in enumerate(image.lanes)]
    if dropped > 0:
        steps = [*steps[: messages_max - 1], (steps[-1][0], 2, f"Note over p0: {dropped + 1} more left out")]
    return "\n".join(["sequenceDiagram", *heads, *(f"    {text}" for _, _, text in steps)])


def _messages(image: Picture) -> Iterable[tuple[int, int, str]]:
    """(row, order within the row, text). A lost message ends in a cross."""
    for arrow in image.arrows:
        yield (
            arrow.row,
            1,
            f"p{arrow.lane}{_line(arrow)}p{arrow.to_lane}: {_mermaid(arrow.label)}{' (lost)' if arrow.lost else ''}",
        )


def _line(arrow: Arrow) -> str:
    if arrow.lost:
        return "--x" if arrow.answer else "-x"
    return "-->>" if arrow.answer else "->>"


def _notes(image: Picture) -> Iterable[tuple[int, int, str]]:
    last = f"p0,p{len(image.lanes) - 1}" if len(image.lanes) > 1 else "p0"
    for mark in image.marks:
        if mark.label and mark.shape not in _ANSWERED_SHAPES and not (mark.shape is Shape.SAW and not mark.doubt):
            where = last if mark.lane is None else f"p{mark.lane}"
            broken = " - broken here" if mark.row == image.broken_row else ""
            yield mark.row, 0, f"Note over {where}: {_mermaid(_noted(mark))}{broken}"


def _noted(mark: Mark) -> str:
    return f"FAULT {mark.label}" if mark.shape is Shape.FAULT else mark.label


def _mermaid(text: str) -> str:
    """Text without what Mermaid reads as its own: separators, entities and the word that ends a block."""
    plain = re.sub(r"[;#%<>{}\n\r]", " ", text).strip() or "unnamed"
    return re.sub(r"\bend\b", "END", plain)


def _prose(text: str) -> str:
    """Text that Markdown shows as it is, on one line, also within a table."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split()))


def _html(text: str) -> str:
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    """Inline code, also for a text with backticks of its own."""
    plain = " ".join(text.split()).replace("|", "¦")
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def _fence(language: str, *lines: str) -> str:
    """A code block whose fence is longer than any inside it."""
    text = "\n".join(lines)
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}\n"
