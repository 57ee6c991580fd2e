"""Engines that nobody here wrote, each behind the candidate contract: one module per engine.

Here: adapters, which use an engine as its own documentation says, unmodified, and import it only when a factory is
called. Never here: engines themselves, corrections of their behaviour, and the judging of what comes out.
"""
