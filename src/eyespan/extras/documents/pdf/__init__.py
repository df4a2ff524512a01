"""The layout of PDF pages: words, tables, columns, structure."""
