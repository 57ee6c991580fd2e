"""A shop's webhook endpoint: it takes what comes, checks the signature as the library does, and answers as it is told.

Never here: what should come.
"""

from __future__ import annotations

import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

WAIT_S = 20.0


class Receiver:
    """Listens on a free port while it is entered. `statuses` are given in turn, then 200."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.came: queue.Queue[tuple[bytes, str]] = queue.Queue()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = receiver.statuses.pop(0) if receiver.statuses else 200
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()
                receiver.came.put((body, self.headers["stripe-signature"]))

            def log_message(self, *words: Any) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def __enter__(self) -> Receiver:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(WAIT_S)

    def next(self) -> tuple[Any, bytes, str]:
        """The next delivery: the event, its body and its signature. Waits for it, bounded."""
        body, signature = self.came.get(timeout=WAIT_S)
        return json.loads(body), body, signature

    def types(self, count: int) -> list[str]:
        """The types of the next so many events."""
        return [self.next()[0]["type"] for _ in range(count)]
