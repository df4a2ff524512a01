"""Archives and compressed files: their listing, their members and what was compressed."""
