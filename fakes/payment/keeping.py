"""Idempotency: which request a key belongs to, the answer kept for it, and what a second use of the key gets.

    kept answer      v1 (`Replay`)                      v2 (`Resume`)
    success          the same bytes again               what was made, as it is by now
    refusal, 500     the same bytes again               done again, from where it stopped
    nothing kept     done                               done

Kept is what execution came to, 500s included. Not kept is what was refused before it began: 401, 429, parameters that
cannot be read, and the conflict with a request that is still on its way. A key lives for ever, for its policy's time,
or not at all, as the provider's cell has it.
Source: docs.stripe.com/api/idempotent_requests; of v2, docs.stripe.com/api-v2-overview.
Never here: doing anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple, Protocol

import orjson

from fakes.core.rows import NEVER
from fakes.payment.forms import Tree
from fakes.payment.refusals import key_reused
from fakes.wire.shelf import Shelf
from harness.model.cell import KEY_TTL_NS, Key

KEPT = "kept"
KEY_LENGTH_MAX = 255
NEVER_KEPT = frozenset({401, 409, 429})


class Kept(NamedTuple):
    """What is kept under a key. `print` is the fingerprint of its request, `made` the first object it made."""

    first_ns: int
    print: str
    status: int
    body: str
    made: str
    request_id: str


class Policy(Protocol):
    """What a second use of a key gets."""

    @property
    def life_ns(self) -> int: ...
    @property
    def methods(self) -> frozenset[str]: ...
    def replays(self, kept: Kept) -> bool:
        """Is the kept answer given again? Otherwise the request is done again, knowing what it has made."""
        ...


class Replay:
    """The first generation: whatever the answer was."""

    life_ns = KEY_TTL_NS
    methods = frozenset({"POST"})

    def replays(self, kept: Kept) -> bool:
        return True


class Resume:
    """The second generation: failed or partial work goes on, and the answer is of the present."""

    life_ns = 30 * KEY_TTL_NS
    methods = frozenset({"POST", "DELETE"})

    def replays(self, kept: Kept) -> bool:
        return False


POLICIES: Mapping[str, Policy] = {"v1": Replay(), "v2": Resume()}


def fingerprint(method: str, path: str, tree: Tree) -> str:
    """What makes two requests the same one."""
    return sha256(orjson.dumps([method, path, tree], option=orjson.OPT_SORT_KEYS)).hexdigest()


class Keeping:
    """All kept answers of an account, on its shelf."""

    def __init__(self, shelf: Shelf, policy: Policy, honoured: Key) -> None:
        self._shelf = shelf
        self.policy = policy
        self._life_ns = {Key.HONOURED: NEVER, Key.EXPIRES: policy.life_ns, Key.IGNORED: -1}[honoured]

    def heeds(self, method: str) -> bool:
        """Does a key on a request of this method mean anything?"""
        return self._life_ns >= 0 and method in self.policy.methods

    def under(self, key: str, now_ns: int) -> Kept | None:
        """What is kept under this key, while it lives."""
        found = self._shelf.get(KEPT, key) if key else None
        if found is None or now_ns - found[0] > self._life_ns:
            return None
        return Kept(*found)

    def find(self, key: str, print_: str, now_ns: int) -> Kept | None:
        """What is kept for this request. Raises StripeRefusal if the key is another one's."""
        kept = self.under(key, now_ns)
        if kept is not None and kept.print != print_:
            raise key_reused(key)
        return kept

    def keep(self, key: str, kept: Kept) -> None:
        """Keep an answer, if it is of a kind that is kept."""
        if key and kept.status not in NEVER_KEPT:
            self._shelf.put(KEPT, key, list(kept))
