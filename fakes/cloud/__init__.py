"""A cloud provider."""
