"""What any server of the zone does: every row, and what is known to differ.

The expected value of a row is what the fake answers. `DIFFERENCES` is what a real server answers instead, and why; a
difference that is gone is a failure too.
Never here: starting a server, and hooks: real servers have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fakes.dns import answers, changes
from tests.fakes.dns.rows import ROWS, Row

__all__ = ["DIFFERENCES", "ROWS", "Row", "answers", "changes"]

KNOT_KEYS = "Knot tells who may not ask that it is not authoritative for them"

DIFFERENCES: Mapping[tuple[str, str], tuple[Any, str]] = {
    ("names_that_make_little_sense_are_taken", "named"): (
        ("REFUSED", "REFUSED"),
        "BIND looks at names (check-names, check-integrity) by default, before the prerequisites",
    ),
    ("an_unsigned_update_is_refused", "knotd"): ("NOTAUTH", KNOT_KEYS),
    ("an_unsigned_update_does_not_learn_about_prerequisites", "knotd"): ("NOTAUTH", KNOT_KEYS),
    ("a_change_of_ttl_alone_is_a_change", "knotd"): ((("NOERROR", 0), [300]), "Knot keeps the TTL of a value it has"),
    ("a_deletion_with_a_ttl", "knotd"): ("NOERROR", "Knot does not look at the TTL of a deletion"),
    ("a_change_of_type_zero", "knotd"): ("NOERROR", "Knot takes type 0 as one it does not know"),
    ("the_whole_zone_can_be_transferred", "knotd"): ((True, True, "NOTIMP"), "Knot has no transfer over datagrams"),
}
"""(row, program) -> what it answers instead, and why."""
