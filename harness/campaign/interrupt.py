"""Ctrl-C and SIGTERM as a question that is asked between two runs.

A KeyboardInterrupt can come up anywhere: in a greenlet of the candidate, between a history and its row, in the middle of a report. So
the first signal is only remembered, and the campaign stops where it is whole. The second one does not wait any longer.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ASIDE = b"\nInterrupted: what is under way is finished and kept. Again, and it stops at once.\n"


class Interrupt:
    """A context manager; while it is open, `asked` says whether somebody wants us to stop.

    Outside the main thread, where Python allows no handler, it is never asked.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        os.write(2, _ASIDE)  # not through a buffer: a handler may interrupt whoever is writing to it
