"""Families: the read tools of other programs, one table each."""
