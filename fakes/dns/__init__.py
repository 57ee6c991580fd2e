"""A DNS zone."""
