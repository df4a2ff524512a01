"""Turn bytes into numbered lines, without loading the file."""
