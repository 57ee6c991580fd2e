from __future__ import annotations

import contextlib
import json

from hypothesis import given
from hypothesis import strategies as st

from fakes.payment.domain import Payment
from fakes.wire.journal_file import Document, JournalFile
from fakes.wire.shelf import ProviderState, Shelf
from harness.model.errors import ProviderFailure
from tests.fakes.stage import Stage, effect, undo

_STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "remove"]), st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 9)),
    max_size=20,
)


@given(_STEPS, st.integers(1, 5))
def test_a_shelf_that_is_loaded_from_its_changes_holds_the_same(
    steps: list[tuple[str, str, str, int]], every: int
) -> None:
    shelf, journal = Shelf(), JournalFile()
    for number, (verb, kind, id_, value) in enumerate(steps):
        shelf.put(kind, id_, value) if verb == "put" else shelf.remove(kind, id_)
        if number % every == 0:
            journal.commit(shelf.take_changes())
    journal.commit(shelf.take_changes())
    again = Shelf()
    again.load(journal.documents())
    assert {kind: again.all(kind) for kind in "ab"} == {kind: shelf.all(kind) for kind in "ab"}


def test_numbers_go_on_after_a_load() -> None:
    shelf = Shelf()
    assert [shelf.number("pi"), shelf.number("pi"), shelf.number("cus")] == [1, 2, 1]
    again = Shelf()
    again.load(list(shelf.take_changes()))
    assert again.number("pi") == 3


@given(st.lists(st.sampled_from(["charge", "again", "refund", "part", "over"]), max_size=8))
def test_a_provider_that_is_loaded_from_its_changes_is_in_the_same_state(verbs: list[str]) -> None:
    stage = Stage()
    provider, other = stage.provider(), stage.provider()
    state, loaded = ProviderState(provider, Shelf()), ProviderState(other, Shelf())
    requests = {
        "charge": effect(key="k1"),
        "again": effect(key="k2", operation="two"),
        "refund": undo(key="u"),
        "part": undo(params={"amount": 10}),
        "over": undo(params={"amount": 1000}),
    }
    kept: dict[tuple[str, str], Document] = {}
    for verb in verbs:
        with contextlib.suppress(ProviderFailure):
            stage.send(provider, requests[verb])
        for document in state.take_changes():
            kept[document.kind, document.id] = document._replace(value=json.loads(json.dumps(document.value)))
    loaded.load(list(kept.values()))
    assert other.snapshot() == provider.snapshot()
    assert isinstance(provider, Payment)
