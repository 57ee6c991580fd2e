"""knownstate: a fault-injection test bench for transaction layers."""

__version__ = "0.1.0"
