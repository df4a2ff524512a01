"""Files as MCP resources: their contents, completions of their paths, and notifications when they change."""
