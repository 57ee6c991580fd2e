"""Tests of the providers at the domain level, and of the generic HTTP face."""
