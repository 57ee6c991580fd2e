"""Tests of the renderers, on one small campaign written by hand in `examples.py`."""
