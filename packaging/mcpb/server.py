"""The bundle's entry point: the folders chosen in the host's settings come as arguments."""

from eyespan_mcp import run

run()
