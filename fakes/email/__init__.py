"""A mail provider."""
