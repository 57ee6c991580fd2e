"""The judge: guarantees as small pure functions over two ledgers, claims and effects.

Here: the one pass that builds the ledgers, one function per guarantee, the registry, the verdicts.
Never here: a fake, a rig, the reference ledger, IO, clocks, randomness. It imports the nouns and the standard library.
"""
