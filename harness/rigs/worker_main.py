"""The program of a worker process: `python -m harness.rigs.worker_main MODULE:FACTORY FD`.

It loads the candidate, says so over the control channel (file descriptor FD), and then does what it is told, one order
after the other, until the channel ends: `prepare` an empty store, `enlist` as an incarnation, do a `verb`. Whatever the
candidate raises is reported, not printed. Never here: decisions. Few imports, since a run starts several of these.
"""

from __future__ import annotations

import sqlite3
import sys
from socket import socket
from typing import Any

from harness.candidates.contract import Candidate, Unsupported, Worker
from harness.candidates.loading import load_candidate
from harness.model.claim import LedgerView
from harness.model.errors import KnownstateError
from harness.model.plain import to_plain, workflow_from_plain
from harness.rigs.channel import Channel
from harness.rigs.worker_handles import WorkerHandles, enlistment_from_plain

UNUSABLE = 2
"""Exit code when the candidate cannot be loaded."""


class Servant:
    """Does orders. A process is one incarnation; only an auditor, which changes nothing, is enlisted again and again."""

    def __init__(self, candidate: Candidate, channel: Channel) -> None:
        self._candidate = candidate
        self._channel = channel
        self._handles: WorkerHandles | None = None
        self._worker: Worker | None = None

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """Do one order. The answer says `done` with a value, or `error` with what the candidate raised."""
        try:
            return {"say": "done", "value": self._do(order)}
        except Unsupported:
            return {"say": "done", "value": None}
        except (Exception, SystemExit) as error:  # the candidate's own failure is an event of the run, whatever it is
            return {"say": "error", "error": f"{type(error).__name__}: {error}"}

    def _do(self, order: dict[str, Any]) -> Any:
        match order["do"]:
            case "prepare":
                return self._prepare(order["store"])
            case "enlist":
                self._handles = WorkerHandles(enlistment_from_plain(order["as"]), self._channel)
                self._worker = None
                return None
            case "verb":
                return self._verb(order["verb"], order["argument"], silent=order["silent"])
            case other:
                raise AssertionError(f"there is no order {other!r}")

    def _prepare(self, store: str) -> None:
        connection = sqlite3.connect(store)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            self._candidate.prepare(connection)
            connection.commit()
        finally:
            connection.close()

    def _verb(self, verb: str, argument: Any, *, silent: bool) -> Any:
        assert self._handles is not None, "enlist first"
        self._handles.silent = silent
        try:
            if self._worker is None:
                self._worker = self._candidate.start(self._handles)
            return _plain(getattr(self._worker, verb)(*_arguments(verb, argument)))
        finally:
            self._handles.silent = False


def _arguments(verb: str, argument: Any) -> tuple[Any, ...]:
    if argument is None:
        return ()
    return (workflow_from_plain(argument),) if verb == "submit" else (argument,)


def _plain(value: Any) -> Any:
    """A verb's value for the channel. Anything but a LedgerView goes as the name of its type: messages need no more."""
    if isinstance(value, LedgerView):
        return to_plain(value)
    return None if value is None else type(value).__name__


def main(argv: list[str]) -> int:
    spec, descriptor = argv
    channel = Channel(socket(fileno=int(descriptor)))
    try:
        candidate = load_candidate(spec)
    except KnownstateError as error:
        channel.say({"say": "unusable", "what": error.what, "where": error.where, "next": error.next_step})
        return UNUSABLE
    channel.say({"say": "ready", "traits": to_plain(candidate.traits)})
    servant = Servant(candidate, channel)
    while (order := channel.hear()) is not None:
        channel.say(servant.obey(order))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
