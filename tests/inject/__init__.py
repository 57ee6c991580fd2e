"""Tests of the injectors: that each fault is what it says, seen from both ends."""
