"""A thousand keyed payments from twenty connections while responses are lost: journal and callers agree on every one."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from fakes.payment.face import PaymentFake
from fakes.wire.hosting import Hosted
from tests.fakes.payment.customer import SECRET

PAYMENTS = 1000
CONNECTIONS = 20
TRIES_MAX = 100


async def _pay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> tuple[str, str]:
    """One request; the intent's id and its operation. Raises OSError or EOFError when no whole answer came."""
    body = (
        "amount=100&currency=eur&confirm=true&payment_method=pm_card_visa"
        f"&metadata[operation]=op-{number}&metadata[target]=target-{number}"
    )
    writer.write(
        f"POST /v1/payment_intents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {SECRET}\r\n"
        f"idempotency-key: key-{number}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
    )
    async with asyncio.timeout(20):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", head)
        assert length is not None, head
        said = json.loads(await reader.readexactly(int(length[1])))
    assert head.split()[1] == "200", said
    return said["id"], said["metadata"]["operation"]


async def _drive(host: str, port: int) -> tuple[dict[str, tuple[str, str]], int]:
    """Key -> what the caller was told; and how often a request was sent again."""
    answers: dict[str, tuple[str, str]] = {}
    numbers, resent = iter(range(PAYMENTS)), 0

    async def caller() -> None:
        nonlocal resent
        connection = None
        for number in numbers:
            for _ in range(TRIES_MAX):
                try:
                    connection = connection or await asyncio.open_connection(host, port)
                    answers[f"key-{number}"] = await _pay(*connection, number)
                    break
                except (OSError, EOFError):
                    resent += 1
                    if connection is not None:
                        connection[1].close()
                    connection = None

    await asyncio.gather(*(caller() for _ in range(CONNECTIONS)))
    return answers, resent


@pytest.mark.slow
def test_every_key_is_one_charge_and_its_caller_knows_which(tmp_path: Path) -> None:
    with Hosted(PaymentFake, folder=tmp_path) as hosted:
        hosted.arm("after-commit#3x150 = reset")
        hosted.arm("responding#5x60 = truncate:30:reset")
        hosted.arm("before-commit#7x60 = fin")
        answers, resent = asyncio.run(_drive(*hosted.places["http"]))
        effects = [entry.data for entry in hosted.entries("effect")]
        counts, cuts = hosted.counts(), len(hosted.entries("cut"))
        fake = hosted.fake
        assert isinstance(fake, PaymentFake)
        shown = {
            each["id"]: each for each in hosted.call(lambda: list(fake.account.records.newest_first("payment_intent")))
        }
    assert (cuts, resent) == (270, 270)
    assert len(answers) == PAYMENTS
    assert Counter(effect["key"] for effect in effects) == Counter(list(answers))
    told = {effect["key"]: effect["operation"] for effect in effects}
    assert {key: operation for key, (_, operation) in answers.items()} == told
    assert {shown[intent]["metadata"]["operation"] for intent, _ in answers.values()} == set(told.values())
    assert len(shown) == PAYMENTS
    assert counts["arrivals"] == PAYMENTS + 270
    assert counts["responses"] == PAYMENTS
