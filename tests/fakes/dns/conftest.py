"""One hosted fake for the tests of a module; every test finds it as new, but for its journal and its clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fakes.dns.face import DnsFake
from fakes.wire.hosting import Hosted
from fakes.wire.journal_file import Document
from tests.fakes.dns.asking import Server
from tests.fakes.dns.bench import Bench, server_of
from tests.fakes.dns.real_servers import real_server


@pytest.fixture(scope="module")
def hosted() -> Iterator[tuple[Hosted, list[Document]]]:
    with Hosted(DnsFake) as running:
        yield running, running.call(running.desk.snapshot)


@pytest.fixture
def bench(hosted: tuple[Hosted, list[Document]]) -> Bench:
    running, new = hosted
    running.call(running.desk.board.clear)
    running.call(lambda: running.desk.restore(new))
    return Bench(running)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with Servers(tmp_path_factory.mktemp("servers")) as running:
        yield running


class Servers:
    """The fake and the real servers, each started when first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, Server] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def get(self, program: str) -> Server:
        if program not in self._running:
            self._running[program] = self._start(program)
        return self._running[program]

    def _start(self, program: str) -> Server:
        if "fake" not in self._running:
            self._running["fake"] = server_of(self._stack.enter_context(Hosted(DnsFake)))
        if program == "fake":
            return self._running["fake"]
        folder = self._folder / program
        folder.mkdir()
        return self._stack.enter_context(real_server(program, folder, self._running["fake"]))
