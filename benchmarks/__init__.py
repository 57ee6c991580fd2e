"""What knownstate costs, as ratios within one run. See README.md here. Nothing imports this folder."""
