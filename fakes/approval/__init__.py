"""An approval queue, and the people who decide."""
