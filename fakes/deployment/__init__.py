"""A forge: a repository with refs and files, deployments of its commits, and workflows that are dispatched."""
