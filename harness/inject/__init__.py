"""Fault x boundary -> injector. One adapter per tool; the tool's name stays inside its file."""
