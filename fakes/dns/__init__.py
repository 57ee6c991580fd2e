"""A DNS zone: the domain, and an authoritative server with dynamic updates, a secondary and a resolver."""
