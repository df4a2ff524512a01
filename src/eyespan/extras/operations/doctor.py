"""`eyespan doctor`: report the state of this installation."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from importlib.util import find_spec

from eyespan import __version__, _native, dialects, kinds, outline, plugins, worker
from eyespan.cli.options import Arguments, Parser
from eyespan.escape import in_plain_words, visible
from eyespan.extras.operations import attack, probe
from eyespan.guard import choose_backend, openat, opening
from eyespan.kinds import Kind

HELP = """\
usage: eyespan doctor [--attack] [--json]

Reports how files are opened here, the C accelerator, the sandboxes of decoders
and of the server, the kinds of documents, the extras that are installed and the
plugins of other distributions. A line that starts with `!` is a problem, one
with `-` a part that is not installed; both explain what to do. Exit status: 0,
or 1 if there is a problem. With --attack, each line is an attack on this
installation, in half a minute: escapes by links and races, denied names, the
sandboxes call by call, the listeners, other users of the machine.
"""

GUARDS = {
    "openat2": "the kernel resolves every path beneath the root, without a race",
    "walk": "every path is walked component by component from the root, without a race",
    "walk-by-name": "every path is walked by name and compared after opening",
    "portable": "names are checked before and after opening: weaker, see docs/security.md",
}
DEPENDENCIES = {"zstandard": ("archives", "zstd compression"), "pillow_heif": ("heic", "HEIC images")}
"""The modules of the core that a pip extra installs: its name, and what it adds. Each extra lists its own."""
CAN_DETACH = True
OK, NOT_INSTALLED, PROBLEM = "ok", "not installed", "problem"


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("--attack", action="store_true", help="attack this installation, and report what held")
    parser.add_argument("--json", action="store_true", help="print a JSON list")


def main(arguments: Arguments) -> int:
    """Print one row per part. Returns 1 if there is a problem."""
    arguments.reject_operands("doctor")
    if arguments.values.get("attack"):
        rows = [(name, _state(has_held), tried) for name, has_held, tried in attack.attacks()]
    else:
        rows = list(checks(arguments))
    if arguments.values.get("json"):
        listed = [{"name": name, "ok": state == OK, "state": state, "what": what} for name, state, what in rows]
        print(json.dumps(listed, indent=2))
    else:
        width = max(len(name) for name, _, _ in rows)
        for name, state, what in rows:
            print(f"{_SIGNS[state]} {name:<{width}}  {visible(what)}")
    return 1 if any(state == PROBLEM for _, state, _ in rows) else 0


_SIGNS = {OK: " ", NOT_INSTALLED: "-", PROBLEM: "!"}


def checks(arguments: Arguments) -> Iterator[tuple[str, str, str]]:
    """Yield each part: its name, its state and a description."""
    yield "eyespan", OK, f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.release()}"
    backend = choose_backend()
    yield "guard", _state(backend != "portable"), f"{backend}: {GUARDS[backend]}"
    if backend in ("openat2", "walk") and not os.path.isdir(openat.PROC):
        yield "/proc", PROBLEM, "not mounted: files are opened by name and compared, and file systems are not known"
    is_fast = _native.BACKEND == "c"
    slow = "Python; a C compiler at install time makes them several times faster"
    yield "inner loops", OK if is_fast else NOT_INSTALLED, "C" if is_fast else slow
    yield "index cache", OK, "in memory"
    layers = worker.layers()
    missing = [name for name, is_up in layers.items() if not is_up]
    state = f"up: {', '.join(layers)}" if not missing else f"without {', '.join(missing)}: this system lacks them"
    yield "decoder sandbox", _state(not missing), state
    workspace = arguments.workspace()
    with workspace:
        is_up, report = _server_sandbox([root.path for root in workspace.roots])
        yield "server sandbox", _state(is_up), report
    for kind in (*kinds.rows(), *[plugin.row for plugin in kinds.installed()]):
        is_present = not kind.needs or _is_installed(kind.needs)
        yield (
            f"kind {kind.name}",
            OK if is_present else NOT_INSTALLED,
            _kind(kind) if is_present else f"off: {_install(kind)}",
        )
    for extra, modules in sorted(pip_extras().items()):
        is_present = all(map(_is_installed, modules))
        what = ", ".join(modules.values()) + ("" if is_present else f"; pip install 'eyespan[{extra}]'")
        yield f"extra {extra}", OK if is_present else NOT_INSTALLED, what
    yield from _plugins()
    for root in workspace.roots:
        note = "" if root.never_hangs else " (its file system may not respond: read in threads with a deadline)"
        if root.canonical == "/":
            note += " (everything on this machine; --root DIR names less)"
        yield "root", OK, f"{root.path}{note}"


def _plugins() -> Iterator[tuple[str, str, str]]:
    """Yield each installed plugin and where it comes from, and those that were left out, with the reason."""
    if plugins.are_off():
        yield "plugins", OK, f"off ({plugins.OFF}, --no-plugins)"
    for plugin in (*kinds.installed(), *dialects.installed(), *outline.installed(), *opening.installed()):
        yield f"plugin {plugin.name}", OK, f"eyespan.{plugin.group}, from {plugin.origin}"
    for problem in plugins.problems():
        yield f"plugin {problem.name}", PROBLEM, f"eyespan.{problem.group}, from {problem.origin}: {problem.reason}"


def _state(is_ok: bool) -> str:
    return OK if is_ok else PROBLEM


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False  # the package that it is part of


def _server_sandbox(roots: list[str]) -> tuple[bool, str]:
    """Return the state of the sandbox that `eyespan serve` of these roots would enter."""
    try:
        report, decodes = probe.probe(roots)
    except (OSError, ValueError) as error:
        return False, f"cannot be tried here: {in_plain_words(error)}"
    if not decodes:
        return False, f"{report.line()}; documents cannot be decoded inside it: `eyespan serve --no-sandbox` can"
    return not report.missing, f"{report.line()} (`eyespan serve --no-sandbox` runs without)"


def _kind(kind: Kind) -> str:
    """Return how files of a kind are recognised and shown."""
    names = f" ({' '.join(kind.suffixes)})" if kind.suffixes else ""
    surfaces = f"shown by {', '.join(kind.shown_in)}" if kind.shown_in else "shown as text unless --document is given"
    return f"on: {kind.noun}{names}, {surfaces}"


def _install(kind: Kind) -> str:
    extra = next((extra for extra, modules in pip_extras().items() if kind.needs in modules), "")
    return f"pip install 'eyespan[{extra}]'" if extra else f"pip install {kind.needs}"


def pip_extras() -> dict[str, dict[str, str]]:
    """Return what each module adds, by the pip extra that installs it."""
    extras: dict[str, dict[str, str]] = {}
    for rows in (DEPENDENCIES, *plugins.own("DEPENDENCIES")):
        for module, (extra, what) in rows.items():
            extras.setdefault(extra, {})[module] = what
    return extras
