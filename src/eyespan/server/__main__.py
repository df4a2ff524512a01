"""`python -m eyespan.server [--root DIR]... ARGUMENTS OF SERVE`: the server without the rest of the command line."""

from __future__ import annotations

import sys

from eyespan.server import Usage, main, parse
from eyespan.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run(argv: list[str]) -> int:
    roots: list[str] = []
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--root":
            roots.append(next(words, "."))
        else:
            rest.append(word)
    try:
        options = parse(rest)
    except Usage as error:
        sys.stderr.write(f"eyespan serve: {error}\n")
        return 2

    def workspace(wanted: Sequence[str] | None) -> Workspace:
        return Workspace(*(wanted or roots or ["."]), deadline_seconds=options.timeout_seconds)

    return main(workspace, options)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
