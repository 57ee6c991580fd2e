"""The shipping service: its domain, its protocol on the wire, and its events."""
