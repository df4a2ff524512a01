"""`eyespan doctor`: report the state of this installation."""

from __future__ import annotations

import platform

from eyespan.cli.options import COMMON, Arguments, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from eyespan.kinds import Kind

HELP = """\
usage: eyespan doctor [--json]

Reports how files are opened here, the C accelerator, the sandboxes of decoders and of the server, and the optional
readers that are installed. A line that starts with `!` can be improved, and explains how.
"""

GUARDS = {
    "openat2": "the kernel resolves every path beneath the root, without a race",
    "walk": "every path is walked component by component from the root, without a race",
    "walk-by-name": "every path is walked by name and compared after opening",
    "portable": "names are checked before and after opening: weaker, see docs/security.md",
}
OPTIONAL = (
    ("chardet", "other encodings", "pip install chardet"),
    ("pillow_heif", "HEIC images", "pip install 'eyespan[heic]'"),
    ("resvg_py", "SVG images", "pip install 'eyespan[svg]'"),
    ("httptools", "MCP over HTTP", "pip install 'eyespan[http]'"),
)
"""Optional parts that do not belong to one kind of document."""


OPTIONS = {"options": (Option("--json", text="print a JSON list"),), "common options": COMMON}


def main(arguments: Arguments) -> int:
    """Print one row per part."""
    arguments.reject_operands("doctor")
    rows = list(checks(arguments))
    if arguments.values.get("json"):
        import json

        print(json.dumps([{"name": name, "ok": ok, "what": what} for name, ok, what in rows], indent=2))
        return 0
    width = max(len(name) for name, _, _ in rows)
    for name, ok, what in rows:
        print(f"{' ' if ok else '!'} {name:<{width}}  {what}")
    return 0


def checks(arguments: Arguments) -> Iterator[tuple[str, bool, str]]:
    """Yield each part: its name, True if it needs no improvement, and its state."""
    from importlib.util import find_spec

    from eyespan import __version__, _native, kinds, worker
    from eyespan.guard import choose_backend
    from eyespan.lines.cache import cache_directory

    yield (
        "eyespan",
        True,
        f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.release()}",
    )
    backend = choose_backend()
    yield "guard", backend != "portable", f"{backend}: {GUARDS[backend]}"
    fast = _native.BACKEND == "c"
    yield "inner loops", fast, "C" if fast else "Python; a C compiler at install time makes them several times faster"
    directory = cache_directory()
    yield "index cache", directory is not None, directory or "off: in memory only (EYESPAN_CACHE)"
    layers = worker.layers()
    missing = [name for name, is_up in layers.items() if not is_up]
    state = f"up: {', '.join(layers)}" if not missing else f"without {', '.join(missing)}: this system lacks them"
    yield "decoder sandbox", not missing, state
    workspace, _ = arguments.workspace()
    with workspace:
        yield "server sandbox", *_server_sandbox([root.path for root in workspace.roots])
    for kind in kinds.KINDS:
        found = not kind.needs or find_spec(kind.needs) is not None
        yield f"kind {kind.name}", found, _kind(kind) if found else f"off: {_install(kind)}"
    for module, what, install in OPTIONAL:
        found = find_spec(module) is not None
        yield what, found, "on" if found else f"off: {install}"
    for root in workspace.roots:
        slow = "" if root.never_hangs else " (its file system may not respond: read in threads with a deadline)"
        yield "root", root.canonical != "/", f"{root.path}{slow}"


def _server_sandbox(roots: list[str]) -> tuple[bool, str]:
    """Return the state of the sandbox that `eyespan serve` of these roots would enter."""
    from eyespan.server import sandboxing

    try:
        report, decodes = sandboxing.probe(roots)
    except (OSError, ValueError) as error:
        return False, f"cannot be tried here: {error}"
    if not decodes:
        return False, f"{report.line()}; documents cannot be decoded inside it: `eyespan serve --no-sandbox` can"
    return not report.missing, f"{report.line()} (`eyespan serve --no-sandbox` runs without)"


def _kind(kind: Kind) -> str:
    """Return how files of a kind are recognised and shown."""
    names = f" ({' '.join(kind.suffixes)})" if kind.suffixes else ""
    surfaces = f"shown by {', '.join(kind.shown_in)}" if kind.shown_in else "shown as text unless --document is given"
    return f"on: {kind.noun}{names}, {surfaces}"


def _install(kind: Kind) -> str:
    package = {"PIL": "pillow"}.get(kind.needs, kind.needs)
    return f"pip install 'eyespan[{kind.extra}]'" if kind.extra else f"pip install {package}"
