"""Campaigns: many runs of one candidate on one scenario, resumable, with a coverage statement. Between the rigs and the commands."""
