"""A subscriber: it notes the events that are posted to it, and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT_S = 10.0


class Receiver:
    """What came so far, in the order of arrival. `statuses` are the next answers; afterwards it is 204."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self._came = threading.Condition()
        self.url = ""

    def take(self, event: dict[str, Any]) -> int:
        with self._came:
            self.events.append(event)
            self._came.notify_all()
            return self.statuses.pop(0) if self.statuses else 204

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """Wait (bounded) until so many came."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.events) >= count, WAIT_S), f"only {len(self.events)} came"
            return list(self.events)

    def types(self, count: int) -> list[str]:
        return [event["type"] for event in self.wait_for(count)]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status = receiver.take({**json.loads(body), "attempt": int(self.headers["event-attempt"])})
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    receiver.url = f"http://127.0.0.1:{server.server_port}/events"
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
