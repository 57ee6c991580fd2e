"""What lies on disk: histories, campaigns, bundles."""
