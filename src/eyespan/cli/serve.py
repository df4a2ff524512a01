"""`eyespan serve`: the MCP server."""

from __future__ import annotations

from eyespan import server
from eyespan.cli import Options, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from eyespan.workspace import Workspace

HELP = server.HELP
STEPS_ASIDE = False
"""A host ends the process that it has started, and that is the server."""


def main(options: Options) -> int:
    try:
        parsed = server.parse([*options.rest, f"--timeout={options.timeout_seconds}"])
    except server.Usage as error:
        raise Usage(str(error)) from None
    if not parsed.help:
        parsed.settings = {"forge": options.workspace()[1]}  # type: ignore[misc]  # ours alone until it is served

    def make(roots: Sequence[str] | None) -> Workspace:
        """The workspace of these roots, or of the command line's."""
        return Options(list(roots or options.roots), options.config, [], options.timeout_seconds).workspace()[0]

    return server.main(make, parsed)
