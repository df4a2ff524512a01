"""Compare dialects with the programs that they follow, on random calls over a tree of odd files."""
