"""The access control list on the wire."""
