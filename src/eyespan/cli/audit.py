"""`eyespan audit`: what a server's audit log says, for a person."""

from __future__ import annotations

from eyespan.cli import Options
from eyespan.server import summary

HELP = summary.HELP


def main(options: Options) -> int:
    return summary.main(options.rest)
