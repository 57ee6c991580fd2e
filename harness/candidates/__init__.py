"""How a candidate joins: the contract, and its loading."""
