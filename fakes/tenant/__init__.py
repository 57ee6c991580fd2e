"""A tenant directory."""
