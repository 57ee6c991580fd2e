"""What a client and the journal see when an HTTP fake is held, cut or stopped at each of its points."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from fakes.wire.hosting import Hosted
from fakes.wire.points import Facts
from tests.fakes.wire.echo import Echo


@pytest.fixture(scope="module")
def hosted() -> Iterator[Hosted]:
    with Hosted(Echo) as host:
        yield host


@pytest.fixture
def echo(hosted: Hosted) -> Hosted:
    """The same fake, empty again and without hooks."""
    hosted.call(hosted.desk.board.clear)
    hosted.call(lambda: hosted.desk.restore([]))
    return hosted


def url(echo: Hosted, path: str = "/notes") -> str:
    return echo.places["http"].url + path


def notes(echo: Hosted) -> list[str]:
    return echo.call(echo.fake.notes)  # type: ignore[attr-defined]


def outcome(echo: Hosted, text: str = "a") -> str:
    """What a client that sends once and keeps no connection sees: a status, or the name of the exception."""
    try:
        return str(httpx.post(url(echo), content=text).status_code)
    except httpx.TransportError as error:
        return type(error).__name__


@pytest.mark.parametrize(
    ("hook", "seen", "kept"),
    [
        ("received = reset", "ReadError", 0),
        ("parsed = fin", "RemoteProtocolError", 0),
        ("parsed = status:429:5", "429", 0),
        ("key-claimed = reset", "ReadError", 0),
        ("before-commit = reset", "ReadError", 0),
        ("before-commit = status:503", "503", 0),
        ("after-commit = reset", "ReadError", 1),
        ("after-commit = fin", "RemoteProtocolError", 1),
        ("after-commit = status:500", "500", 1),
        ("responding = reset", "ReadError", 1),
        ("responding = truncate:0", "RemoteProtocolError", 1),
        ("responding = truncate:20", "RemoteProtocolError", 1),
        ("responding = truncate:20:reset", "ReadError", 1),
        ("before-commit = delay:1ms", "200", 1),
        ("responded = pass", "200", 1),
    ],
)
def test_a_hook_fires_where_it_was_aimed(echo: Hosted, hook: str, seen: str, kept: int) -> None:
    fired_before = len(echo.entries("hook-fired"))
    echo.arm(hook)
    assert outcome(echo) == seen
    assert len(notes(echo)) == kept
    fired = echo.entries("hook-fired")[fired_before:]
    assert [entry.data["point"] for entry in fired] == [hook.split()[0]]
    assert outcome(echo) == "200"


def test_a_connection_ends_at_once_as_it_was_told_to(echo: Hosted) -> None:
    """Nothing is sent: a close with unread data would be a reset as well."""
    echo.arm("connect = reset")
    with socket.create_connection(echo.places["http"]) as sock, pytest.raises(ConnectionResetError):
        sock.recv(1)
    echo.arm("connect = fin")
    with socket.create_connection(echo.places["http"]) as sock:
        assert sock.recv(1) == b""
    assert [entry.data["action"] for entry in echo.entries("cut")[-2:]] == ["reset", "fin"]


def test_a_cut_inside_the_body_leaves_the_head_whole(echo: Hosted) -> None:
    with socket.create_connection(echo.places["http"]) as sock:
        request = b"POST /notes HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\na"
        sock.sendall(request)
        whole = b""
        while not whole.endswith(b"}"):
            whole += sock.recv(65536)
        echo.arm(f"responding = truncate:{len(whole) - 3}")
        sock.sendall(request)
        parts = b"".join(iter(lambda: sock.recv(65536), b""))
    assert parts == whole.replace(b'{"number":1}', b'{"number":2}')[:-3]


def test_who_hangs_is_seen_and_goes_on_when_released(echo: Hosted) -> None:
    hook = echo.arm("before-commit = hang")
    seen: list[str] = []
    thread = threading.Thread(target=lambda: seen.append(outcome(echo)))
    thread.start()
    echo.wait_until_hanging(hook)
    assert notes(echo) == []
    assert echo.release(hook) == 1
    thread.join(10)
    assert (seen, notes(echo)) == (["200"], ["a"])


def test_a_key_is_in_use_while_its_request_is_held(echo: Hosted) -> None:
    hook = echo.arm("key-claimed = hang")
    statuses: list[int] = []

    def post() -> None:
        statuses.append(httpx.post(url(echo), content="a", headers={"key": "k"}).status_code)

    thread = threading.Thread(target=post)
    thread.start()
    echo.wait_until_hanging(hook)
    post()
    echo.release(hook)
    thread.join(10)
    assert statuses == [409, 200]
    assert notes(echo) == ["a"]


def test_the_second_of_three_is_hit_and_the_others_are_not(echo: Hosted) -> None:
    echo.arm("after-commit#2 = reset")
    assert [outcome(echo, text) for text in "abc"] == ["200", "ReadError", "200"]


def test_a_hook_waits_for_the_request_it_describes(echo: Hosted) -> None:
    echo.arm("after-commit target=b* = status:500")
    assert [outcome(echo, text) for text in ("a", "b1", "b2")] == ["200", "500", "200"]


def test_a_competitor_is_first(echo: Hosted) -> None:
    echo.arm("before-commit = compete:note")
    assert outcome(echo) == "200"
    assert notes(echo) == ["theirs", "a"]


def test_a_competitor_that_is_not_known_is_noted(echo: Hosted) -> None:
    echo.arm("before-commit = compete:nobody")
    assert outcome(echo) == "200"
    assert "knows no competitor" in echo.entries("hook-failed")[-1].data["error"]


def test_a_read_is_told_how_stale_it_is_to_be(echo: Hosted) -> None:
    echo.arm("read = stale:5s")
    assert [httpx.get(url(echo)).json()["stale_ns"] for _ in range(2)] == [5_000_000_000, 0]


def test_a_settling_fails_if_it_is_told_to(echo: Hosted) -> None:
    echo.arm("settle = fail")
    for _ in range(2):
        httpx.post(url(echo, "/slow"))
    before = len(echo.entries("effect"))
    echo.advance(2_000_000_000)
    echo.wait_for("effect", before + 2)
    assert notes(echo) == ["settled False", "settled True"]


def test_the_four_counts_are_apart(echo: Hosted) -> None:
    before = echo.counts()
    echo.arm("after-commit = reset")
    outcome(echo)
    echo.arm("before-commit = fin")
    outcome(echo)
    outcome(echo)
    after = echo.counts()
    assert {name: after[name] - before[name] for name in after} == {
        "arrivals": 3,
        "commits": 2,
        "responses": 1,
        "caller_views": 0,
    }


def test_an_effect_is_in_the_journal_before_its_response_is_written(echo: Hosted) -> None:
    hook = echo.arm("responding = hang")
    thread = threading.Thread(target=lambda: outcome(echo))
    thread.start()
    echo.wait_until_hanging(hook)
    kept = echo.call(lambda: echo.desk.journal._db.execute("select entries from steps order by number").fetchall())
    echo.release(hook)
    thread.join(10)
    assert any('"effect"' in entries for (entries,) in kept[-3:])


def test_a_stream_is_passed_on_as_it_comes(echo: Hosted) -> None:
    assert httpx.get(url(echo, "/stream")).text == "0\n1\n2\n"


def test_less_than_a_request_has_not_arrived(echo: Hosted) -> None:
    before = echo.counts()["arrivals"]
    torn = len(echo.entries("torn"))
    with socket.create_connection(echo.places["http"]) as sock:
        sock.sendall(b"POST /notes HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")
    echo.wait_for("torn", torn + 1)
    assert echo.counts()["arrivals"] == before


def test_too_much_is_refused_and_the_connection_ends(echo: Hosted) -> None:
    assert httpx.post(url(echo), content=b"x" * (1 << 21)).status_code == 413
    assert httpx.get(url(echo), headers={f"h-{n}": "v" for n in range(101)}).status_code == 431
    with socket.create_connection(echo.places["http"]) as sock:
        sock.sendall(b"GET /notes HTTP/1.1\r\nhost: x\r\nlong: " + b"y" * 70_000)
        assert sock.recv(100).startswith(b"HTTP/1.1 400")


def test_a_bug_of_ours_is_a_500_and_noted(echo: Hosted) -> None:
    assert httpx.post(url(echo, "/broken")).status_code == 500
    assert "a bug of ours" in echo.entries("bug")[-1].data["error"]


class _Watching(Echo):
    """Its competitor changes nothing: it looks at what is on disk at that moment."""

    def compete(self, what: str, facts: Facts) -> None:
        self.seen = [text for (text,) in self.desk.journal._db.execute("select documents from steps order by number")]


def test_state_is_on_disk_when_its_response_is_about_to_be_written() -> None:
    """A hook that hangs or crashes would make it durable itself; this one does not."""
    with Hosted(_Watching) as watching:
        watching.arm("responding = compete:look")
        assert outcome(watching, "kept") == "200"
        assert '"kept"' in watching.call(lambda: watching.fake.seen[-1])  # type: ignore[attr-defined]
