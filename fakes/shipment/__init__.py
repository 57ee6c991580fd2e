"""A shipping service: labels that cost money, their refunds, and where the parcels are."""
