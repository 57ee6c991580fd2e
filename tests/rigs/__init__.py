"""Tests of the rigs: the course of a run, and that all rigs mean the same by the same schedule line."""
