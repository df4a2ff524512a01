"""Open the roots of a workspace, local and remote."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from eyespan import plugins
from eyespan.context import CallContext, WouldBlock
from eyespan.errors import Stuck, TimedOut
from eyespan.guard.roots import RemoteRoot, Root


def open_roots(paths: Sequence[str | os.PathLike[str]], deadline_seconds: float | None) -> tuple[Root, ...]:
    """Open roots within a deadline. A URL gives a remote root, which is not contacted before the first read.

    Raises: TimeoutError (an OSError) if a file system does not respond; OSError, NotADirectoryError, ValueError.
    """
    context = CallContext(deadline_seconds)
    opened: list[Root] = []
    try:
        for path in paths:
            if (remote := _open_remote(os.fspath(path))) is not None:
                opened.append(remote)
                continue
            try:
                opened.append(Root(path, may_block=False))
            except WouldBlock:
                from eyespan.guard import blocking  # most processes never need it

                # A root that opens after the deadline has no reference, so it closes itself.
                opened.append(blocking.within(context, _opener(path), key=("root", os.fspath(path))))
        return tuple(opened)
    except (TimedOut, Stuck) as error:
        raise TimeoutError(f"the root {os.fspath(paths[len(opened)])!r} cannot be opened: {error}") from None


def _open_remote(text: str) -> Root | None:
    """Open a root that is written as a URL of a known scheme, perhaps after a local name: `/data=s3://bucket/prefix`.

    Raises: ValueError.
    """
    name, equals, url = text.partition("=")
    scheme = (url if equals and name.startswith("/") else text).partition("://")[0].lower()
    if f"{scheme}://" not in text.lower():
        return None
    for rows in plugins.own("ROOTS"):
        if scheme in rows:
            opened: Root = plugins.load(rows[scheme])(text)
            return opened
    for plugin in installed():
        if plugin.name == scheme:
            return _open_plugin(plugin, text)
    if line := plugins.problem("roots", scheme):
        raise ValueError(line)
    return None


def installed() -> tuple[plugins.Plugin, ...]:
    """Return the schemes of roots that installed distributions add."""
    return plugins.installed("roots", _check_plugin)


def _open_plugin(plugin: plugins.Plugin, text: str) -> Root:
    try:
        opened = plugin.row(text)
    except ValueError:
        raise
    except Exception as error:  # whatever the plugin raises
        raise ValueError(f"the plugin {plugin.origin} cannot open {text!r}: {plugins.describe(error)}") from None
    if not isinstance(opened, RemoteRoot):
        raise ValueError(f"the root {text!r} cannot be opened: {plugin.origin} returned no RemoteRoot")
    return opened


def _check_plugin(name: str, row: object) -> None:
    if not callable(row):
        raise plugins.BrokenContract("the row of a root scheme must be a function that takes the text of a root")
    if not name.isalnum() or name.lower() != name:
        raise plugins.BrokenContract(f"the name of a root scheme must be lower-case letters and digits, not {name!r}")
    if any(name in rows for rows in plugins.own("ROOTS")):
        raise plugins.BrokenContract(f"eyespan itself has roots of the scheme {name}")


def _opener(path: str | os.PathLike[str]) -> Callable[[CallContext], Root]:
    return lambda _: Root(path)
