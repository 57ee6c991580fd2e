"""A feature flag service."""
