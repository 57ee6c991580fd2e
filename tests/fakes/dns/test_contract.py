"""The contract on the fake, on BIND 9 and on Knot, each row by itself."""

from __future__ import annotations

import pytest

from tests.fakes.dns.conftest import Servers
from tests.fakes.dns.contract import DIFFERENCES, ROWS, Row

PROGRAMS = [
    pytest.param("fake", id="fake"),
    pytest.param("named", id="named", marks=pytest.mark.real("named")),
    pytest.param("knotd", id="knotd", marks=pytest.mark.real("knotd")),
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_every_server_keeps_the_contract(servers: Servers, row: Row, program: str) -> None:
    expected, _ = DIFFERENCES.get((row.name, program), (row.expected, ""))
    assert row.look(servers.get(program)) == expected


def test_every_known_difference_is_one() -> None:
    expected = {row.name: row.expected for row in ROWS}
    assert all(value != expected[name] for (name, _), (value, _) in DIFFERENCES.items())


def test_the_fake_differs_from_bind_in_one_row() -> None:
    assert [name for name, program in DIFFERENCES if program == "named"] == ["names_that_make_little_sense_are_taken"]
