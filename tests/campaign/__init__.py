"""Campaigns: what is run, what is kept, what a selection means."""
