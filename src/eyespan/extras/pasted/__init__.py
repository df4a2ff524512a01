"""Pasted text: what other programs and people write to name a place in a file, read as selectors."""
