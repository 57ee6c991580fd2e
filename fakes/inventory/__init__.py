"""An inventory: stock per article, holds on it, and what became of them."""
