"""The pytest plugin: runs of pytest inside pytest, with small scenario files and a twin of one planted bug."""
