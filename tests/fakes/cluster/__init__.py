"""Tests of the cluster: its domain, its pure parts, its face, and an unmodified client of the real one."""
