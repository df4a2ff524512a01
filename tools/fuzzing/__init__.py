"""What `tools/fuzz.py` runs: targets, the damage done to their inputs, and the loop that watches them.

A target is one thing that takes bytes from strangers: a reader, a dialect's arguments, the selectors, the
configuration, a message of the wire. It states its invariant in one sentence, brings seeds, and judges one input. An
input is always bytes, and everything else about a call (window, encoding, dialect) is derived from them, so that a
file alone is a whole reproducer.
"""
