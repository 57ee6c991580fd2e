"""`nsupdate` with its usual settings, over both transports, and what it does by itself when answers are lost."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.fakes.dns.bench import Bench

pytestmark = pytest.mark.real("nsupdate")

LIMIT_S = 30


def nsupdate(bench: Bench, *lines: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Let it send what these lines say."""
    server = bench.primary
    program = shutil.which("nsupdate")
    assert program is not None
    script = "\n".join((f"server 127.0.0.1 {server.port}", f"zone {server.zone}", *lines, "send", ""))
    key = f"hmac-sha256:{server.key_name}:{server.secret}"
    arguments = [program, "-y", key, *options]
    return subprocess.run(arguments, input=script, capture_output=True, text=True, timeout=LIMIT_S, check=False)


ADD = ("prereq nxdomain www.example.", "update add www.example. 300 A 192.0.2.1")


@pytest.mark.parametrize("options", [(), ("-v",)], ids=["udp", "tcp"])
def test_it_adds_under_a_prerequisite_and_marks_whose(bench: Bench, options: tuple[str, ...]) -> None:
    done = nsupdate(bench, *ADD, 'update add _op.www.example. 300 TXT "op=bill-1"', options=options)
    assert (done.returncode, done.stderr) == (0, "")
    assert [effect["operation"] for effect in bench.effects()] == ["bill-1"]
    transports = {e.data["transport"] for e in bench.entries("arrived") if e.data["line"].startswith("UPDATE")}
    assert transports == {"tcp" if options else "udp"}


def test_it_names_the_refusal(bench: Bench) -> None:
    bench.add("www")
    done = nsupdate(bench, *ADD)
    assert done.returncode == 2
    assert "YXDOMAIN" in done.stderr


def test_a_wrong_key_is_told_as_a_bad_signature(bench: Bench) -> None:
    script = f"server 127.0.0.1 {bench.primary.port}\nzone example\nupdate delete www.example.\nsend\n"
    program = shutil.which("nsupdate")
    assert program is not None
    arguments = [program, "-y", f"hmac-sha256:{bench.primary.key_name}:AAAA"]
    done = subprocess.run(arguments, input=script, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode != 0
    assert "BADSIG" in done.stderr
    assert bench.effects() == []


@pytest.mark.slow
def test_over_datagrams_it_sends_again_and_takes_its_own_commit_for_a_conflict(bench: Bench) -> None:
    bench.arm("responding = drop")
    done = nsupdate(bench, *ADD, options=("-u", "1"))
    assert bench.fired() == 1
    assert bench.counted() == (2, 1, 1)
    assert (done.returncode, "YXDOMAIN" in done.stderr) == (2, True)


def test_over_a_stream_it_does_not_send_again(bench: Bench) -> None:
    bench.arm("after-commit = reset")
    done = nsupdate(bench, *ADD, options=("-v",))
    assert bench.fired() == 1
    assert bench.counted() == (1, 1, 0)
    assert done.returncode != 0
