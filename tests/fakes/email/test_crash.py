"""The fake as a process that is killed between the final dot and the 250: the window no exception tells apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fakes.email.face import EmailFake
from fakes.email.options import EmailOptions
from fakes.wire.street import Plot, Street
from tests.fakes.email.post import SENDERS, message, outcome
from tests.fakes.wire.test_street import wait_for_death

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    folder: Path = tmp_path_factory.mktemp("street")
    with Street([Plot(EmailFake, EmailOptions())], folder) as it:
        yield it


@pytest.mark.parametrize("client", SENDERS)
def test_a_kill_looks_the_same_before_and_after_the_commit(street: Street, client: str) -> None:
    entry = street.entries()["email"]

    def kept() -> int:
        answer = httpx.get(f"{entry['url']}/api/v1/search", params={"query": f'"{client} says"'}, trust_env=False)
        return int(answer.json()["messages_count"])

    seen = []
    for point, count in (("before-commit", 0), ("after-commit", 1)):
        pid = street.pids()["email"]
        httpx.post(entry["control"] + "/hooks", json={"hook": f"{point} = crash"}).raise_for_status()
        seen.append(outcome(SENDERS[client], entry["smtp"]["port"], message(text=f"{client} says\n")))
        wait_for_death(pid)
        street.mend()
        assert kept() == count
    assert seen[0] == seen[1]
    assert seen[0].error == "SMTPServerDisconnected"
