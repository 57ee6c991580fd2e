"""The tenant directory: its tables, and its protocol on the wire."""
