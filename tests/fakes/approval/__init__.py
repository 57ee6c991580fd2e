"""The approval queue on the wire: its own protocol, the page for people, and its events."""
