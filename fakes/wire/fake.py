"""A fake as something that can be hosted: its name, its ports, its options, its state, and how it serves.

Never here: one provider, and processes.
"""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, field_validator

from fakes.wire.desk import Desk
from fakes.wire.journal_file import Durable
from fakes.wire.points import Facts
from harness.model.cell import Cell
from harness.model.errors import EnvironmentMissing

LOOPBACK = "127.0.0.1"
SAME_NUMBER_TRIES = 50


class Options(BaseModel):
    """What can be configured on every fake. A fake adds fields of its own, each with a default and a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cell: str = "honoured.authoritative.prompt"
    """The provider cell, in the text form of scenario files."""

    @field_validator("cell")
    @classmethod
    def _is_cell(cls, text: str) -> str:
        Cell.parse(text)
        return text

    @property
    def provider_cell(self) -> Cell:
        """The cell as a value."""
        return Cell.parse(self.cell)


class Port(NamedTuple):
    """One port a fake listens on. Transport: `tcp`, `udp`, or `both` on one number."""

    name: str
    transport: str = "tcp"


class Place(NamedTuple):
    """Where a port was opened."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


Sockets = Mapping[str, socket.socket]
"""Transport (`tcp`, `udp`) -> bound socket of one port."""


class Fake(ABC):
    """A provider that can be hosted. `state` must be set by the constructor, which must not start anything."""

    name: ClassVar[str]
    title: ClassVar[str]
    """One line for people: what it is and which protocol it speaks."""
    ports: ClassVar[tuple[Port, ...]] = (Port("http"),)
    options_class: ClassVar[type[Options]] = Options
    competitors: ClassVar[Mapping[str, str]] = {}
    """What `compete:WHAT` knows here, each with a sentence."""

    commit_kinds: ClassVar[tuple[str, ...]] = ("effect",)
    """Kinds of journal entries that say that something was changed."""

    state: Durable

    def __init__(self, desk: Desk, options: Options) -> None:
        self.desk = desk
        self.options = options

    @abstractmethod
    async def serve(self, sockets: Mapping[str, Sockets]) -> None:
        """Begin to answer on these sockets (port name -> its sockets). Returns when it does."""

    @abstractmethod
    async def close(self) -> None:
        """Stop answering; connections end."""

    @abstractmethod
    def entry(self, places: Mapping[str, Place]) -> dict[str, Any]:
        """What a client needs, as JSON data: `url` or `host` and `port`, credentials, and `env` with environment variables."""

    @abstractmethod
    def view(self) -> Any:
        """The present state for people, as JSON data; nothing secret in it."""

    def compete(self, what: str, facts: Facts) -> None:
        """Somebody else acts on what the held request is about. Raises LookupError for what is not in `competitors`."""
        raise LookupError(f"{self.name} knows no competitor {what!r}; known: {', '.join(self.competitors) or 'none'}")


def bind(port: Port, host: str = LOOPBACK, number: int = 0) -> dict[str, socket.socket]:
    """Bind a port (0: any free one). Raises EnvironmentMissing if it cannot be had."""
    kinds = ("tcp", "udp") if port.transport == "both" else (port.transport,)
    for left in range(SAME_NUMBER_TRIES, 0, -1):
        bound: dict[str, socket.socket] = {}
        try:
            for kind in kinds:
                wanted = number or (next(iter(bound.values())).getsockname()[1] if bound else 0)
                bound[kind] = _bound(kind, host, wanted)
        except OSError as error:
            for sock in bound.values():
                sock.close()
            if number or left == 1:
                raise EnvironmentMissing(
                    f"Port {number or 'any'} cannot be had: {error.strerror or error}.",
                    where=f"{port.name} on {host}",
                    next_step="Give another port, or end what uses it.",
                ) from None
            continue
        return bound
    raise AssertionError("the last try returns or raises")


def _bound(kind: str, host: str, number: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if kind == "udp":
        sock = socket.socket(family, socket.SOCK_DGRAM)
    else:
        # The protocol is named since asyncio looks at it before it switches Nagle's algorithm off.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, number))
        if kind == "tcp":
            sock.listen(1024)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
