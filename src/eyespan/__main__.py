"""`python -m eyespan`."""

from eyespan.cli import run

run()
