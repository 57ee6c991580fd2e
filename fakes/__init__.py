"""Fake external systems. Each has its own truth, and only they make effects; `README.md` says how to add one.

Kept without imports, so that reading one provider does not load the others.
"""
