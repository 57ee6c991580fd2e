"""The shop: its pages over plain HTTP, in a real browser, and the driver that buys in it."""
