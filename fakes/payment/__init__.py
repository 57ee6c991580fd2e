"""A payment provider."""
