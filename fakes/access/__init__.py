"""An access control list."""
