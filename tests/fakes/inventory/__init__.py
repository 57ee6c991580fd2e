"""The inventory: its domain, and its protocol on the wire."""
