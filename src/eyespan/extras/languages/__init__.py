"""Languages: grammars and scanners for outlines, and maps of directories."""
