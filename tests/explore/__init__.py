"""Tests of the strategies: what is planned, in which order, and what is left out."""
