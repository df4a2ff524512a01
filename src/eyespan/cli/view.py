"""`eyespan view`: a page that shows what a model receives."""

from __future__ import annotations

import sys

from eyespan.cli.options import COMMON, Arguments, Option, UsageError, whole_number

HELP = """\
usage: eyespan view [options]

Opens a page in the browser that shows exactly what a model receives: choose a
file and a dialect, and see every block with its tokens, what was left out, and
why a read was refused. A second dialect stands beside the first.

  eyespan view
  eyespan view --audit reads.jsonl    with the reads of a running server, live
  eyespan view --no-open --port 8080  print the address only

The page is served on this machine only, and its address contains a token.
"""
OPTIONS = {
    "options": (
        Option("--port", value="N", convert=whole_number(65535), text="the port (default: any that is free)"),
        Option("--audit", value="FILE", text="show the reads in this log of `eyespan serve --audit`"),
        Option("--no-open", text="do not open the browser"),
    ),
    "common options": COMMON,
}


def main(arguments: Arguments) -> int:
    """Serve the page until it is interrupted."""
    from eyespan.view.activity import Activity
    from eyespan.view.api import Api
    from eyespan.view.server import ViewServer

    arguments.reject_operands("view")
    arguments.finish_loading()
    workspace = arguments.workspace()
    try:
        server = ViewServer(
            Api.of_workspace(workspace, Activity(arguments.values.get("audit"))), arguments.values.get("port", 0)
        )
    except OSError as error:
        raise UsageError(f"--port: {error.strerror or error}") from None
    print(f"{server.url}\nStop with Ctrl-C.", flush=True)
    if not arguments.values.get("no_open"):
        import webbrowser

        webbrowser.open(server.url)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        server.server_close()
    return 0
