"""HTTP: MCP over HTTP with tokens, audit log and metrics, and the page that shows what a model receives."""
