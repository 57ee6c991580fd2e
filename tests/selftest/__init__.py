"""The alarm rings, and says so when it would not."""
