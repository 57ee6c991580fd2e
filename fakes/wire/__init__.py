"""What every wire face shares: hook points, the durable journal, the clock, servers, and the control of them."""
