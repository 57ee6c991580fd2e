"""Claims beside effects."""

from __future__ import annotations

from harness.report.books import LINES_MAX, open_books
from tests.report import examples
from tests.report.examples import Recorder

SUBJECTS = frozenset({"billing.charge"})
DONE = {"provider": "billing", "action": "charge", "target": "T"}


def test_the_operation_in_question_comes_first_with_both_books() -> None:
    first, second = open_books(examples.failing_events(), SUBJECTS)
    assert (first.operation, first.in_question, first.standing, first.last_word) == (
        "billing.charge",
        True,
        2,
        "VERIFIED",
    )
    assert [line.state for line in first.claims] == ["PREPARED", "COMMITTING", "COMMITTED", "VERIFIED"]
    assert (second.operation, second.standing) == ("dns.record", 1)


def test_an_undone_effect_does_not_stand_and_neither_does_the_undo() -> None:
    log = Recorder()
    log.effect(1, "e1", "w/a/attempt-1", operation="a", **DONE)
    log.effect(2, "e2", "w/undo.a/attempt-1", operation="undo.a", undoes="e1", **DONE | {"action": "refund"})
    (book,) = open_books(log.events, SUBJECTS)
    assert [line.stands for line in book.effects] == [False, False]
    assert book.standing == 0


def test_the_same_effect_without_its_undo_stands() -> None:
    log = Recorder()
    log.effect(1, "e1", "w/a/attempt-1", operation="a", **DONE)
    (book,) = open_books(log.events, SUBJECTS)
    assert [line.stands for line in book.effects] == [True]


def test_a_long_book_keeps_both_ends_and_counts_the_middle() -> None:
    log = Recorder()
    for number in range(LINES_MAX + 6):
        log.add(number, "worker-1", "claimed", "a", subject="a", to=f"S{number}")
    (book,) = open_books(log.events, SUBJECTS)
    assert (len(book.claims), book.claims_left_out) == (LINES_MAX, 6)
    assert (book.claims[0].state, book.claims[-1].state) == ("S0", f"S{LINES_MAX + 5}")
