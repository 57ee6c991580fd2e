"""What every history relies on: numbers without gaps, time that does not go back, kinds that have a word."""

from __future__ import annotations

import pytest

from harness.rigs.recorder import Recorder


def recorded(*events: tuple[int, str]) -> Recorder:
    recorder = Recorder()
    for time_ns, kind in events:
        recorder.add(time_ns, "rig", kind)
    return recorder


def test_a_sound_recording_passes() -> None:
    recorded((0, "submitted"), (5, "healed"), (5, "run-ended")).check()


@pytest.mark.parametrize(
    ("recorder", "said"),
    [
        (recorded((5, "submitted"), (4, "healed")), "event 1 goes back in time"),
        (recorded((0, "submitted"), (1, "mended")), "event 1 has the unknown kind 'mended'"),
    ],
)
def test_an_unsound_one_names_the_event(recorder: Recorder, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        recorder.check()


def test_a_gap_in_the_numbers_is_named() -> None:
    recorder = recorded((0, "submitted"), (1, "healed"), (2, "run-ended"))
    del recorder.events[1]
    with pytest.raises(AssertionError, match="event 1 is numbered 2"):
        recorder.check()
