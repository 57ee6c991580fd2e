"""The control channel between a rig's controller and one worker process: JSON objects, one a line, over a socket pair.

Both ends use this file. A worker that has said something waits for the answer: that is what makes the order of a run
total.
Never here: what is said. Standard library only, since the worker pays for every import at each start.
"""

from __future__ import annotations

import json
import socket
from typing import Any

LINE_BYTES_MAX = 1 << 20
"""A longer line is a bug of one of the ends, not a message."""
_CHUNK_BYTES = 1 << 16


class Channel:
    """One end."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._unread = b""

    def say(self, message: dict[str, Any]) -> bool:
        """Send a message. False if the other end is gone."""
        try:
            self._end.sendall(json.dumps(message).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def hear(self, wait_s: float | None = None) -> dict[str, Any] | None:
        """The next message, or None if the other end is gone. Raises TimeoutError if nothing comes within `wait_s`."""
        self._end.settimeout(wait_s)
        while b"\n" not in self._unread:
            try:
                chunk = self._end.recv(_CHUNK_BYTES)
            except ConnectionResetError:
                return None
            if not chunk:
                return None
            self._unread += chunk
            assert len(self._unread) <= LINE_BYTES_MAX, "a message without an end on the control channel"
        line, self._unread = self._unread.split(b"\n", 1)
        message = json.loads(line)
        assert isinstance(message, dict), f"{line[:80]!r} is no message"
        return message

    def close(self) -> None:
        self._end.close()
