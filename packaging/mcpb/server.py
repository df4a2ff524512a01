"""Run the server of the bundle. The arguments are the directories chosen in the host's settings."""

from eyespan_mcp import run

run()
