"""A cluster: objects with names, versions and owners of their fields, and controllers that act on them later."""
