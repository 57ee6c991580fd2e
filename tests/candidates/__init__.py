"""Tests of candidates and of how they join."""
