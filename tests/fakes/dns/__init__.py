"""The DNS fake: its pure parts, the face with real clients, and one contract on it and on two real servers."""
