"""`eyespan view`: a page that shows what a model receives."""

from __future__ import annotations

import signal
import sys
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from eyespan import plugins
from eyespan.cli.options import Arguments, Parser, UsageError, text, whole_number
from eyespan.extras.http.page.activity import Activity
from eyespan.extras.http.page.api import Api, WorkspaceBackend
from eyespan.extras.http.page.local_server import ViewServer

HELP = """\
usage: eyespan view [DIR ...] [options]

Opens a page in the browser that shows exactly what a model receives: choose a
file and a dialect, and see every block with its tokens, what was left out, and
why a read was refused. A second dialect stands beside the first.

  eyespan view
  eyespan view ~/project                   another directory
  eyespan view --audit reads.jsonl         the reads of a running server, live
  eyespan view --why ~/.claude/projects    what the reads of your host cost
  eyespan view --no-open --port 8080       print the address only

The page is served on this machine only. It asks for the token that the command
prints, unless the command opens it. A token is valid once; after that a cookie
admits this browser, until the command ends.
"""
REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={address}">
<title>eyespan</title>
<a href="{address}">Open the page</a>
"""


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("--port", metavar="N", type=whole_number(65535), help="the port (default: any that is free)")
    parser.add_argument(
        "--audit", metavar="FILE", type=text, help="show the reads in this log of `eyespan serve --audit`"
    )
    parser.add_argument(
        "--why", metavar="PATH", type=text, help="show the report of `eyespan why` for a host's transcripts"
    )
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")


def main(arguments: Arguments) -> int:
    """Serve the page until it is interrupted."""
    workspace = arguments.workspace([*arguments.roots, *arguments.operands])
    transcripts = arguments.values.get("why")
    report = plugins.load(plugins.own("TRANSCRIPT_REPORT")[0])([transcripts], arguments) if transcripts else None
    try:
        backend = WorkspaceBackend(workspace, Activity(arguments.values.get("audit")), report)
        port = arguments.values.get("port", 0)
        server = ViewServer(Api(backend), port, deadline_seconds=workspace.deadline_seconds)
    except OSError as error:
        raise UsageError(f"--port: {error.strerror or error}") from None
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    private = nullcontext() if arguments.values.get("no_open") else TemporaryDirectory(prefix="eyespan-")
    try:
        with server, private as directory:
            print(server.url)
            print(f"If the page asks for a token: {server.new_token()} (valid once)\nStop with Ctrl-C.", flush=True)
            if directory is not None:
                _open_page(f"{server.url}#{server.new_token()}", Path(directory, "view.html"))
            server.serve_forever()
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 0


def _open_page(address: str, file: Path) -> None:
    """Open an address in the browser by a file that redirects to it.

    Every user of the machine can read the arguments of a process, but only this one can read the file.
    """
    file.touch(0o600)
    file.write_text(REDIRECT.format(address=address))
    webbrowser.open(file.as_uri())
