"""Strategies that produce schedules, and what they cover. Pure: values in, values out; no rig, no clock, no files."""
