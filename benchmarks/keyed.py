"""Ten thousand keyed requests from fifty connections, while connections are reset and the payment fake is killed.

Every client sends its request again, under the same key, until it has an answer. At the end the fake's journal and the
clients must agree on every key: one effect, and the same payment in the answer. Disagreements are counted; the goal is
none. Wall time.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.finding import Finding, Section
from benchmarks.rounds import wall

REQUESTS = 10_000
CONNECTIONS = 50
RESETS = ("after-commit#7x1200 line=POST* = reset", "responding#11x600 line=POST* = truncate:30:reset")
CRASH_EVERY = 2_500
TRIES_MAX = 200
CLIENT_S_MAX = 30.0


def measure(rounds: int) -> Section:
    from fakes.catalogue import face
    from fakes.wire.fake import Options
    from fakes.wire.journal_file import read_entries
    from fakes.wire.street import Plot, Street

    kind = face("payment")
    options: Options = kind.options_class()
    with tempfile.TemporaryDirectory(prefix="knownstate-bench-") as folder:
        with Street([Plot(kind, options)], Path(folder)) as street:
            started = wall()
            answers, resent = asyncio.run(_drive(street))
            seconds = wall() - started
            restarts = street.restarts()["payment"]
        entries = read_entries(Path(folder) / "payment.sqlite")
    effects = [entry.data for entry in entries if entry.kind == "effect" and entry.data["action"] == "charge"]
    wrong = disagreements(answers, effects)
    fired = Counter(entry.data["action"] for entry in entries if entry.kind == "hook-fired")
    return Section(
        f"{REQUESTS} keyed requests from {CONNECTIONS} connections, with resets and crashes",
        (
            Finding("keys on which journal and client disagree", "", float(wrong), float(wrong), 0.0),
            Finding("requests a second, answers kept", "", REQUESTS / seconds, REQUESTS / seconds),
        ),
        (
            f"{len(effects)} charges for {len(answers)} keys; {resent} requests were sent again; "
            f"fired: {', '.join(f'{count} {what}' for what, count in sorted(fired.items()))}; "
            f"the fake was started again {restarts} times.",
        ),
    )


def disagreements(answers: dict[str, str], effects: list[Any]) -> int:
    """Keys that have not exactly one effect, or whose effect is not what the client was told, or that nobody asked for."""
    made: dict[str, list[str]] = {}
    for effect in effects:
        made.setdefault(str(effect["key"]), []).append(str(effect["operation"]))
    wrong = {key for key, operation in answers.items() if made.get(key) != [operation]}
    return len(wrong | (set(made) - set(answers)))


async def _drive(street: Any) -> tuple[dict[str, str], int]:
    """Key -> the operation named in the answer; and how many requests were sent again."""
    host, _, port = street.entries()["payment"]["url"].removeprefix("http://").partition(":")
    secret = street.entries()["payment"]["env"]["STRIPE_API_KEY"]
    for hook in RESETS:
        await _control(street, hook)
    numbers, answers, over = iter(range(REQUESTS)), {}, asyncio.Event()
    resent = 0

    async def client() -> None:
        nonlocal resent
        connection = None
        for number in numbers:
            for attempt in range(TRIES_MAX):
                try:
                    connection = connection or await asyncio.open_connection(host, int(port))
                    answers[f"key-{number}"] = await _post(*connection, number, secret)
                    break
                except (OSError, EOFError):
                    resent += 1
                    if connection is not None:
                        connection[1].close()
                    connection = None
                    assert attempt < TRIES_MAX - 1, f"key-{number} never got an answer"
            if number % CRASH_EVERY == CRASH_EVERY - 1:
                await _control(street, "after-commit#3 line=POST* = crash")

    async def gardener() -> None:
        while not over.is_set():
            street.mend()
            await asyncio.sleep(0.005)

    tending = asyncio.ensure_future(gardener())
    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    over.set()
    await tending
    return answers, resent


async def _post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int, secret: str) -> str:
    """One charge; the operation its answer names. Raises OSError or EOFError when there is no whole answer."""
    body = (
        f"amount=100&currency=eur&confirm=true&payment_method=pm_card_visa"
        f"&metadata[operation]=op-{number}&metadata[target]=target-{number}"
    )
    writer.write(
        f"POST /v1/payment_intents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\n"
        f"idempotency-key: key-{number}\r\ncontent-type: application/x-www-form-urlencoded\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}".encode()
    )
    async with asyncio.timeout(CLIENT_S_MAX):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        assert length is not None, head
        answer = json.loads(await reader.readexactly(int(length[1])))
    if head.split()[1] == "409":  # its first try is still on its way
        raise OSError("key in use")
    assert head.split()[1] == "200", (head, answer)
    assert answer["status"] == "succeeded", answer
    return str(answer["metadata"]["operation"])


async def _control(street: Any, hook: str) -> None:
    """Arm a hook, by a connection of its own."""
    import httpx

    async with httpx.AsyncClient() as client:
        for _ in range(TRIES_MAX):
            try:
                said = await client.post(street.entries()["payment"]["control"] + "/hooks", json={"hook": hook})
                said.raise_for_status()
                return
            except httpx.TransportError:
                await asyncio.sleep(0.01)
