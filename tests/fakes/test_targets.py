"""Business targets: equal everywhere, shared by no two operations."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from fakes.core.targets import KINDS, business_target

SCRIPT = """
from fakes.core.targets import KINDS, business_target
for kind in KINDS:
    for seed in (0, 7):
        print(business_target(kind, seed, "billing.charge"))
"""


def printed_under(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_targets_are_equal_in_another_interpreter_with_another_hash_seed() -> None:
    here = [business_target(kind, seed, "billing.charge") for kind in KINDS for seed in (0, 7)]
    assert len(set(here)) == len(here)
    assert printed_under("1") == here
    assert printed_under("2") == here


def test_target_does_not_depend_on_what_was_asked_before() -> None:
    first = business_target("person", 3, "a")
    business_target.cache_clear()
    business_target("email", 4, "b")
    assert business_target("person", 3, "a") == first


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_operations_or_seeds_share_a_target(kind: str) -> None:
    targets = {business_target(kind, seed, f"op-{n}") for seed in range(5) for n in range(40)}
    assert len(targets) == 200


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("email", r"[\w.]+-[0-9a-f]{12}@example\.(com|net|org)"),
        ("domain", r"[\w-]+-[0-9a-f]{12}\.example"),
        ("order", r"ORD-\d{6}-[0-9a-f]{12}"),
        ("hostname", r"[\w-]+-[0-9a-f]{12}\.[\w-]+\.example"),
    ],
)
def test_target_has_the_shape_of_its_kind_and_no_real_domain(kind: str, shape: str) -> None:
    assert re.fullmatch(shape, business_target(kind, 0, "op"))


def test_unknown_kind_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'planet' is no kind of business target; the kinds are email, domain"):
        business_target("planet", 0, "op")


@pytest.mark.slow
def test_faker_is_not_loaded_with_the_fakes() -> None:
    script = "import sys, fakes.registry, fakes.core.targets; print('faker' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
