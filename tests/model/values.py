"""Hypothesis strategies for the nouns that have a text form."""

from __future__ import annotations

from hypothesis import strategies as st

from harness.model.boundary import Boundary, Phase
from harness.model.cell import ALL_CELLS
from harness.model.fault import Fault
from harness.model.schedule import Injection, Schedule

names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,11}", fullmatch=True)
boundaries = st.builds(Boundary, names, names, names, st.sampled_from(Phase))
injections = st.builds(Injection, boundaries.map(str), st.sampled_from(Fault))
schedules = st.builds(
    Schedule,
    names,
    st.integers(0, 10**18 - 1),
    st.lists(injections, max_size=5).map(tuple),
    st.none() | st.sampled_from(ALL_CELLS),
)
