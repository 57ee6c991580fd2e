"""An ASGI application on a real socket of this machine, in a thread of this process.

Never here: what the application does. Starting waits until connections are answered, closing until the thread has
ended.
"""

from __future__ import annotations

import socket
import threading
from typing import Any

import uvicorn

from harness.model.errors import EnvironmentMissing, HarnessBug

LOOPBACK = "127.0.0.1"
START_WAIT_S = 10.0
STOP_WAIT_S = 10.0
IDLE_MAX_S = 3600
"""The server must not end idle connections: a client would see a failure that no schedule asked for."""
GRACE_S = 1


class _Server(uvicorn.Server):
    """Tells when it has begun to answer."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


class Serving:
    """A running server. `address` is where it listens."""

    def __init__(self, application: Any) -> None:
        # The protocol is named since asyncio looks at it before it switches Nagle's algorithm off: 40 ms a response
        # otherwise.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.bind((LOOPBACK, 0))
        self.address: tuple[str, int] = self._socket.getsockname()
        config = uvicorn.Config(
            application,
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_keep_alive=IDLE_MAX_S,
            timeout_graceful_shutdown=GRACE_S,
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name="providers", daemon=True)
        self._thread.start()
        if not self._server.is_up.wait(START_WAIT_S):
            self.close()
            raise EnvironmentMissing(
                f"The providers' server did not start within {START_WAIT_S:.0f} s.",
                where=f"{self.address[0]}:{self.address[1]}",
                next_step="See whether this machine lets programs listen on 127.0.0.1.",
            )

    def close(self) -> None:
        """Stop the server and wait for its thread. Safe to call again."""
        self._server.should_exit = True
        self._thread.join(STOP_WAIT_S)
        self._socket.close()
        if self._thread.is_alive():
            raise HarnessBug("The providers' server does not end.", where=f"thread {self._thread.name}")
