"""The mail provider: its pure parts, three interfaces with real clients, and one contract on it and on OpenSMTPD."""
