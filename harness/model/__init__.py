"""The nouns of knownstate as frozen values, and the tables that decide words.

Here: boundaries, faults, schedules, workflows, events, effects, claims, verdicts, the lifecycle and error tables.
Never here: IO, clocks, randomness, third-party imports. Everything else may import this package; it imports nothing of ours.
"""
