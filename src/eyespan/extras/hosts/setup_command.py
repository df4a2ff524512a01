"""`eyespan setup`: write, test, print or remove the entry in a host's configuration."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from eyespan.cli.options import Arguments, Parser, UsageError, suggestion, text
from eyespan.cli.serve import parse_words
from eyespan.context import DEADLINE_SECONDS
from eyespan.dialects.forms import arguments_of
from eyespan.escape import in_plain_words, visible
from eyespan.extras.hosts.config_text import entry_of, is_bare, with_entry, without_entry
from eyespan.extras.hosts.host_table import HOSTS, NAME, Host, server_command
from eyespan.server.serve_options import DEFAULT_DIALECT
from eyespan.workspace import Workspace

HELP = f"""\
usage: eyespan setup [HOST] [options] [-- OPTION...]

Writes the entry of eyespan in a host's configuration, starts the server as the
host would, lists its tool and makes one read. Without HOST it lists the hosts
found on this machine and their state.

  eyespan setup                        the hosts found here
  eyespan setup claude-code            for the project in this directory
  eyespan setup cursor --print         show the entry, write nothing
  eyespan setup codex --root ~/code    one directory for every project
  eyespan setup codex --remove
  eyespan setup zed -- --map /workspace=/home/me/project
                                       further options of `eyespan serve`

{fill("The hosts are " + ", ".join(HOSTS) + ".", 79)}

Other entries and comments of the file stay as they are. The file before is
kept beside it. Exit status: 0; 1 if the entry cannot be written or does not
work; 2 for wrong usage.
"""
CALL_SECONDS = 30
"""How long the server has to start and answer."""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "eyespan setup", "version": "1"}}


def add_options(parser: Parser) -> None:
    """Add the options of the command."""
    parser.add_argument("--print", dest="is_print", action="store_true", help="print the entry and write nothing")
    parser.add_argument("--remove", action="store_true", help="remove the entry")
    parser.add_argument("--dialect", metavar="NAME", type=text, help="the dialect of the tool (default: native)")


def main(arguments: Arguments) -> int:
    """Set up a host, or list the hosts."""
    if not arguments.operands:
        return _list()
    name, *more = arguments.operands
    if more and not more[0].startswith("-"):
        raise UsageError("setup takes one host. Try: eyespan setup --help")
    if name not in HOSTS:
        raise UsageError(f"no host {name!r}{suggestion(name, HOSTS)} The hosts are {', '.join(HOSTS)}")
    host = HOSTS[name]
    dialect = arguments.values.get("dialect", DEFAULT_DIALECT)
    if arguments.config:
        more += ["--config", os.path.abspath(arguments.config)]
    if arguments.timeout_seconds != DEADLINE_SECONDS:
        more += ["--timeout", f"{arguments.timeout_seconds:g}"]
    parse_words(["--dialect", dialect, *more])
    command = server_command(host, dialect, [*map(os.path.abspath, arguments.roots)], more)
    try:
        if arguments.values.get("is_print"):
            print(_entry_text(host, command))
            return 0
        if arguments.values.get("remove"):
            return _remove(host)
        _write(host, command)
    except (OSError, ValueError) as error:
        print(f"eyespan setup: {visible(str(host.path))}: {in_plain_words(error)}", file=sys.stderr)
        print("Nothing was written. The entry, to add by hand:\n" + _entry_text(host, command), file=sys.stderr)
        return 1
    return _test(name, command, dialect, arguments.roots)


def _list() -> int:
    print("Hosts found on this machine:\n")
    present = [(name, host) for name, host in HOSTS.items() if host.is_found()]
    for name, host in present:
        print(f"  {name:<14}{host.title:<14}{_state(host):<16}{visible(str(host.path))}")
    if not present:
        print("  none")
    others = [name for name, host in HOSTS.items() if not host.is_found()]
    print(f"\nNot found: {', '.join(others) or 'none'}\nSet one up: eyespan setup HOST")
    return 0


def _state(host: Host) -> str:
    try:
        entry = entry_of(host.form, _read(host.path), host.key, NAME)
    except (OSError, ValueError):
        return "not readable"
    return "not set up" if entry is None else "set up"


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8") if path.exists() else ""


def _entry_text(host: Host, command: Sequence[str]) -> str:
    return with_entry(host.form, "", host.key, NAME, host.entry(command))


# --- write and remove ------------------------------------------------------------------------------------------------


def _write(host: Host, command: Sequence[str]) -> None:
    before = _read(host.path)
    after = with_entry(host.form, before, host.key, NAME, host.entry(command))
    if after == before:
        print(f"{host.title} is set up already in {visible(str(host.path))}")
        return
    path = str(host.path)
    rows = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, n=2, lineterm="")
    print("\n".join([visible(row) for row in rows]))
    backup, earlier = _backup(host.path, after), _backup(host.path, before)
    host.path.parent.mkdir(parents=True, exist_ok=True)
    if earlier.exists():  # the file before is one that setup wrote
        os.replace(earlier, backup)
    elif host.path.exists():
        _replace(backup, before)
    _replace(host.path, after)
    print(f"\nWrote {visible(path)}{f'; the file before is {backup.name}' if before else ''}.")


def _backup(path: Path, written: str) -> Path:
    """Return the name of the file before: it holds a digest of what was written, so that both belong together."""
    digest = hashlib.sha256(written.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return path.with_name(f"{path.name}.before-eyespan-{digest}")


def _remove(host: Host) -> int:
    written = _read(host.path)
    if entry_of(host.form, written, host.key, NAME) is None:
        print(f"{host.title} has no entry of eyespan in {visible(str(host.path))}")
        return 0
    backup = _backup(host.path, written)
    before = _read(backup) if backup.exists() else written  # with a backup, nothing else has changed since
    after = without_entry(host.form, before, host.key, NAME)
    if after != before and is_bare(host.form, after, host.key):
        host.path.unlink()  # the entry was all of it
    else:
        _replace(host.path, after)
    for each in host.path.parent.glob(f"{host.path.name}.before-eyespan-*"):  # also those of files that changed since
        each.unlink()
    print(f"Removed the entry of eyespan from {visible(str(host.path))}.")
    return 0


def _replace(path: Path, contents: str) -> None:
    """Write a file in one step, with the mode of the file that it replaces. A link keeps leading to the file."""
    target = Path(os.path.realpath(path))
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(number, "w", encoding="utf-8", newline="") as file:
            file.write(contents)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


# --- test ------------------------------------------------------------------------------------------------------------


def _test(name: str, command: Sequence[str], dialect: str, roots: Sequence[str]) -> int:
    """Start the server as the host would, list its tool, make one read, and report."""
    root = os.path.abspath(roots[0]) if roots else os.getcwd()
    started = [word.replace("${workspaceFolder}", root) for word in command]
    with Workspace(root) as workspace:
        tool = workspace.toolset(dialect)[0].dialect
        plain = [one for one in os.scandir(root) if one.is_file(follow_symlinks=False) and not one.name.startswith(".")]
        path = min(plain, key=lambda one: one.stat(follow_symlinks=False).st_size).name if plain else ""
        asked = arguments_of(tool, path, root)
    messages: list[dict[str, Any]] = [
        {"method": "initialize", "id": 1, "params": HELLO},
        {"method": "notifications/initialized"},
        {"method": "tools/list", "id": 2},
        *([{"method": "tools/call", "id": 3, "params": {"name": tool.spec.name, "arguments": asked}}] if path else []),
    ]
    sent = "".join([json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages])
    try:
        run = subprocess.run(started, input=sent, capture_output=True, text=True, cwd=root, timeout=CALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"The server does not start: {in_plain_words(error)}", file=sys.stderr)
        return 1
    answers = {answer.get("id"): answer.get("result") for answer in map(json.loads, run.stdout.splitlines())}
    listed = [one["name"] for one in (answers.get(2) or {}).get("tools", [])]
    if not listed:
        print(f"The server started, but lists no tool:\n{visible(run.stderr)}", file=sys.stderr)
        return 1
    print(f"The server starts and lists {', '.join(listed)} ({dialect}).")
    if path and (answers.get(3) or {"isError": True}).get("isError"):
        print(f"It does not read {visible(path)}:\n{visible(run.stdout.splitlines()[-1])}", file=sys.stderr)
        return 1
    print(f"It reads {visible(path)}." if path else "There is no file here to read.")
    print(f"Restart {HOSTS[name].title} to use it. `eyespan setup {name} --remove` takes it out again.")
    return 0
