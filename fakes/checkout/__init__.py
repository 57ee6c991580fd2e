"""A web shop's checkout."""
