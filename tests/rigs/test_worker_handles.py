"""The worker's half of the boundaries: what it reports, when, and what it keeps to itself."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from harness.model.boundary import Purpose
from harness.model.claim import Claim
from harness.model.errors import ProviderFailure
from harness.model.wire import ProviderTraits, Request
from harness.rigs.channel import Channel
from harness.rigs.worker_handles import Enlistment, WorkerHandles, enlistment_from_plain

WAIT_S = 5.0
PREPARED = Claim("billing.charge", "PREPARED")


class Controller:
    """Lets the worker go on whatever it says, and remembers what it said."""

    def __init__(self, folder: Path) -> None:
        ours, theirs = socket.socketpair()
        self.heard: list[dict[str, Any]] = []
        self._channel = Channel(ours)
        self._worker_end = Channel(theirs)
        traits = ProviderTraits("payment", "honoured", "authoritative", "prompt", 0, 10**9)
        nobody = {"payment": ("127.0.0.1", 1)}
        self.enlistment = Enlistment("w1", 1, str(folder / "ledger.db"), nobody, {"payment": traits}, 0, 1)
        self.handles = WorkerHandles(self.enlistment, self._worker_end)
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    def _answer(self) -> None:
        while (message := self._channel.hear()) is not None:
            self.heard.append(message)
            self._channel.say({"go": True, "call": "run-1-1"})

    def said(self) -> list[str]:
        return [message["say"] for message in self.heard]

    def close(self) -> None:
        self._worker_end.close()
        self._thread.join(WAIT_S)
        self._channel.close()


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Controller]:
    controller = Controller(tmp_path)
    connection = controller.handles.connect()
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    yield controller
    controller.close()


def charge(not_after_ns: int = 0) -> Request:
    return Request("payment", "charge", Purpose.EFFECT, "billing.charge", "ORD-1", not_after_ns=not_after_ns)


def test_a_commit_is_reported_before_and_after(controller: Controller) -> None:
    connection = controller.handles.connect()
    connection.execute("INSERT INTO t VALUES (1)")
    controller.handles.next_write("billing.charge", "intent")
    controller.handles.claim(PREPARED)
    connection.commit()
    assert controller.said() == ["write", "wrote"]
    assert (controller.heard[0]["subject"], controller.heard[0]["label"]) == ("billing.charge", "intent")
    assert [claim["state"] for claim in controller.heard[1]["claims"]] == ["PREPARED"]


def test_a_commit_of_nothing_is_no_boundary(controller: Controller) -> None:
    controller.handles.connect().commit()
    assert controller.said() == []


def test_a_claim_that_was_rolled_back_is_never_told(controller: Controller) -> None:
    connection = controller.handles.connect()
    connection.execute("INSERT INTO t VALUES (1)")
    controller.handles.claim(PREPARED)
    connection.rollback()
    connection.execute("INSERT INTO t VALUES (2)")
    connection.commit()
    assert controller.heard[-1] == {"say": "wrote", "claims": []}


def test_a_claim_of_a_transaction_that_was_closed_unfinished_is_never_told(controller: Controller) -> None:
    connection = controller.handles.connect()
    connection.execute("INSERT INTO t VALUES (1)")
    controller.handles.claim(PREPARED)
    connection.close()
    connection = controller.handles.connect()
    connection.execute("INSERT INTO t VALUES (2)")
    connection.commit()
    assert controller.heard[-1] == {"say": "wrote", "claims": []}


def test_a_with_block_commits_across_the_same_boundaries(controller: Controller) -> None:
    """The standard library's own way out of the block would not call our `commit`."""
    with controller.handles.connect() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
    assert controller.said() == ["write", "wrote"]


def test_a_with_block_that_fails_rolls_back_and_tells_nothing(controller: Controller) -> None:
    connection = controller.handles.connect()
    connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.OperationalError), connection:
        connection.execute("no statement")
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    assert controller.said() == []


def test_a_commit_after_a_rollback_is_no_boundary(controller: Controller) -> None:
    connection = controller.handles.connect()
    connection.execute("INSERT INTO t VALUES (1)")
    connection.rollback()
    connection.commit()
    assert controller.said() == []


def test_a_name_is_for_one_write_only(controller: Controller) -> None:
    connection = controller.handles.connect()
    controller.handles.next_write("workflow", "accept")
    for _ in range(2):
        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
    assert [message["label"] for message in controller.heard if message["say"] == "write"] == ["accept", ""]


def test_a_call_is_reported_before_it_is_sent_and_when_its_outcome_is_seen(controller: Controller) -> None:
    with pytest.raises(ProviderFailure, match="refused"):
        controller.handles.call(charge())
    assert controller.said() == ["call", "sending", "saw"]
    assert controller.heard[-1]["code"] == "connection-refused"


def test_a_call_past_its_deadline_is_not_sent(controller: Controller) -> None:
    with pytest.raises(ProviderFailure, match="deadline-passed"):
        controller.handles.call(charge(not_after_ns=1))
    assert controller.said() == ["call", "saw"]


def test_an_auditor_is_silent(controller: Controller) -> None:
    controller.handles.silent = True
    connection = controller.handles.connect()
    connection.execute("INSERT INTO t VALUES (1)")
    connection.commit()
    assert controller.said() == []


def test_an_enlistment_survives_the_channel(controller: Controller) -> None:
    assert enlistment_from_plain(json.loads(json.dumps(asdict(controller.enlistment)))) == controller.enlistment
