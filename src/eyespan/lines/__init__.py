"""From bytes to numbered lines, without loading the file."""
