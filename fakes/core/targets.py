"""Business targets: the address, name or order reference that one operation is about.

Faker makes them readable, and a digest of operation and seed makes them unique, so that an effect can be traced to
its operation even if the candidate invents its own keys. Never here: randomness of any other origin than (kind, seed,
operation).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faker import Faker

_MARK_BYTES = 6
"""48 bits: among ten thousand targets two share a mark once in about six million seeds."""

KINDS: dict[str, Callable[[Faker, str], str]] = {
    "email": lambda fake, mark: f"{fake.user_name()}-{mark}@{fake.safe_domain_name()}",
    "domain": lambda fake, mark: f"{fake.domain_word()}-{mark}.example",
    "company": lambda fake, mark: f"{fake.company()} {mark}",
    "order": lambda fake, mark: f"ORD-{fake.random_number(digits=6, fix_len=True)}-{mark}",
    "person": lambda fake, mark: f"{fake.name()} {mark}",
    "hostname": lambda fake, mark: f"{fake.word()}-{mark}.{fake.domain_word()}.example",
}


@lru_cache(maxsize=4096)
def business_target(kind: str, seed: int, operation: str) -> str:
    """This operation's target under this seed, equal in every interpreter. Raises ValueError for an unknown kind."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of business target; the kinds are {', '.join(KINDS)}")
    fake = _faker()
    fake.seed_instance(_digest(f"{kind}:{seed}:{operation}"))
    return KINDS[kind](fake, _digest(f"{seed}:{operation}"))


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=_MARK_BYTES).hexdigest()


@lru_cache(maxsize=1)
def _faker() -> Faker:
    # Imported here because it costs more than the rest of a run's imports, and many runs have explicit targets.
    from faker import Faker

    return Faker("en_US")
