"""The idempotency layer: which key was used first for what, and the answer kept for it.

Theory. A key is bound by its first executed use to a fingerprint (action, target, parameters). While it lives, the
same request under it gets the kept answer and executes nothing; another request under it is refused. A cell decides
how long it lives: for ever, 24 hours from its first use, or not at all. Kept are successes, also untrue or pending
ones, and refusals that execution itself came to. Not kept: what was refused before execution (limits, validation,
deadlines) and conflicts, which speak of the present.

Never here: what a request does.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from fakes.core.rows import NEVER, Params
from harness.model.cell import KEY_TTL_NS, Key
from harness.model.errors import ProviderFailure
from harness.model.wire import Reply

Fingerprint: TypeAlias = tuple[str, str, Params]

KEPT_REFUSALS = frozenset({"declined"})

_LIFE_NS: dict[Key, int] = {Key.HONOURED: NEVER, Key.EXPIRES: KEY_TTL_NS, Key.IGNORED: -1}


class Use(NamedTuple):
    """The first use of a key, and its answer: a reference, or the `code` of a kept refusal."""

    first_ns: int
    fingerprint: Fingerprint
    reference: str
    pending: bool
    code: str


KeysState: TypeAlias = tuple[tuple[str, Use], ...]


class Keys:
    """All keys a provider remembers. In a cell that ignores keys, and for the empty key, it remembers nothing."""

    __slots__ = ("_life_ns", "_uses")

    def __init__(self, key: Key) -> None:
        self._life_ns = _LIFE_NS[key]
        self._uses: dict[str, Use] = {}

    def use_of(self, key: str, now_ns: int) -> Use | None:
        """The use that binds this key at this moment."""
        use = self._uses.get(key)
        return None if use is None or now_ns - use.first_ns > self._life_ns else use

    def replay(self, key: str, fingerprint: Fingerprint, now_ns: int) -> Reply | None:
        """The kept answer, or None: execute. Raises ProviderFailure for another fingerprint and for a kept refusal."""
        use = self.use_of(key, now_ns)
        if use is None:
            return None
        if use.fingerprint != fingerprint:
            raise ProviderFailure("key-reused")
        if use.code:
            raise ProviderFailure(use.code)
        return Reply(use.reference, pending=use.pending, replayed=True)

    def keep(self, key: str, fingerprint: Fingerprint, now_ns: int, answer: Reply) -> None:
        """Keep a success under the key."""
        self._bind(key, Use(now_ns, fingerprint, answer.reference, answer.pending, ""))

    def keep_refusal(self, key: str, fingerprint: Fingerprint, now_ns: int, code: str) -> None:
        """Keep a refusal under the key, if it is of a kind that is kept."""
        if code in KEPT_REFUSALS:
            self._bind(key, Use(now_ns, fingerprint, "", False, code))

    def snapshot(self) -> KeysState:
        """All of it as one hashable value."""
        return tuple(self._uses.items())

    def restore(self, state: KeysState) -> None:
        """Go back to a snapshot."""
        self._uses = dict(state)

    def _bind(self, key: str, use: Use) -> None:
        if key and self._life_ns >= 0:
            assert self.use_of(key, use.first_ns) is None, f"key {key!r} is bound and was executed again"
            self._uses[key] = use
