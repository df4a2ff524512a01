"""The MCP server: two doors to the same tools.

`stdio` is our own, on the standard library, because a host starts it for every conversation and the official SDK takes
half a second to import; `http` stands on that SDK. Both answer from `protocol`, which knows no transport.

    wire       JSON without the json module         witness    what a call asked for and opened
    protocol   methods, both eras, results          audit      one line a call, and the summary of it
    resources  files by URI, completion             auth       tokens, Host and Origin, rates
    stdio      the lean door                        http       the door for many; metrics
"""

from __future__ import annotations

import sys

from eyespan.server.options import HELP, ServeOptions, Usage, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eyespan.workspace import Workspace

    WorkspaceFactory = Callable[[Sequence[str] | None], Workspace]
    """Makes a workspace: of these roots, or of those of the command line. Raises OSError, ValueError."""

__all__ = ["HELP", "ServeOptions", "Usage", "audit_main", "main", "parse"]


def main(workspace_factory: WorkspaceFactory, options: ServeOptions) -> int:
    """Serves until the host hangs up or the process is told to end; the exit status."""
    if options.help:
        sys.stdout.write(HELP)
        return 0
    try:
        if options.http is not None:
            from eyespan.server import http

            return http.serve(workspace_factory, options)
        from eyespan.server import stdio

        return stdio.serve(workspace_factory, options)
    except (Usage, OSError, ValueError, TypeError) as error:
        sys.stderr.write(f"eyespan serve: {error}\n")
        return 2 if isinstance(error, Usage) else 1


def audit_main(argv: list[str]) -> int:
    """`eyespan audit FILE...`"""
    from eyespan.server import summary

    return summary.main(argv)
