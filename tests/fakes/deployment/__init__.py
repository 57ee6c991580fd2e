"""Tests of the forge: its domain, its face, and an unmodified client of the real one."""
