"""The MCP server: two doors to the same tools.

`stdio` is our own, on the standard library, because a host starts it for every conversation and the official SDK takes
half a second to import; `http` stands on that SDK. Both answer from `protocol`, which knows no transport.

    options    the arguments of `eyespan serve`     witness    what a call asked for and opened
    protocol   methods, both eras, results          audit      one line a call; `summary` for people
    resources  files by URI, completion             auth       tokens, and what each caller gets
    wire       JSON without the json module         gate       what a request must pass; socket rules
    sandboxing the sandbox that the process enters at start
    stdio      the lean door                        http       the door for many; `metrics` of it
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
            from eyespan.server.http.app import serve as serve_http

            return serve_http(workspace_factory, options)
        from eyespan.server.stdio import serve

        return serve(workspace_factory, options)
    except (Usage, OSError, ValueError, TypeError) as error:
        sys.stderr.write(f"eyespan serve: {error}\n")
        return 2 if isinstance(error, Usage) else 1


def audit_main(argv: list[str]) -> int:
    """`eyespan audit FILE...`"""
    from eyespan.server.summary import main as sum_up

    return sum_up(argv)
