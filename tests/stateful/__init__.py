"""Tests of the state machine: how a driven run relates to its schedule, and what Hypothesis finds with it."""
