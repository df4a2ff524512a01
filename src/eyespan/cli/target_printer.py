"""Read what the arguments of `eyespan read` name, and write it to standard output.

The forgiving readings and the searches of `native` are loaded on first use: each takes more than 30 ms.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from eyespan import errors, kinds, plugins
from eyespan.cli.selected import print_note, selected_parts
from eyespan.cli.standard_input import NAME, copied_input
from eyespan.context import CallContext
from eyespan.dialects.pieces import as_char_range, cut_out
from eyespan.dialects.terminal import MAX_LINE_CHARS, Terminal
from eyespan.memory import Ledger
from eyespan.model import DocumentOptions, Limits, Lines, NotebookOptions, Part, ReadRequest, TextPart
from eyespan.opened import Opened
from eyespan.selectors import Place, Ranges, Target, readings, resolve, write_range, write_target
from eyespan.workspace import Workspace

RENEWING_BYTES = 1 << 20
"""Progress that counts as an answer: a person may wait for a long scan, but not for a byte a second."""
MAX_NEAR = 20
"""The similar paths that are listed after an error."""
FINAL = (errors.TimedOut, errors.Cancelled, errors.PastEnd, errors.StoreFailure, errors.Changed, errors.NoMatch)
"""The errors after which a text is not read in another way."""

T = TypeVar("T")
Show = Callable[[bool], None]
"""Writes what a target selects of an opened file. True: after a header."""


def write_output(data: bytes) -> None:
    """Write bytes to standard output, after what was printed before."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


@dataclass(frozen=True, slots=True)
class TargetPrinter:
    """Reads what the arguments name and writes it to standard output."""

    workspace: Workspace
    printer: Terminal
    documents: frozenset[str]
    is_terminal: bool
    is_markdown: bool = False
    needs_numbers: bool = False
    """The person asked for line numbers, whatever they cost."""

    def show(self, text: str, headed: bool) -> bool:
        """Show one argument; return False if it could not be read, with the reason on standard error."""
        if text != "-" and not text.startswith(("-:", "-!/")):
            return self._show_named(self.workspace.path_map.inward(text), text, headed)
        try:
            with copied_input() as directory, Workspace(directory) as own:
                return replace(self, workspace=own)._show_named(NAME + text[1:], text, headed)
        except OSError as error:
            print_note(text, f"cannot keep standard input: {error.strerror or error}")
            return False

    def _show_named(self, text: str, label: str, headed: bool) -> bool:
        try:
            context = renewing_context(self.workspace.engine.deadline_seconds)
            with ExitStack() as stack:
                shows = _Argument(self, label, context, stack).understand(text)
                for show in shows:
                    show(headed or len(shows) > 1)
        except errors.ReadError as error:
            print_note(label, self.workspace.path_map.outward(self._advice(error)))
            return False
        return True

    def _advice(self, error: errors.ReadError) -> str:
        """Return what went wrong and what to do next."""
        similar = f"; similar: {', '.join(error.suggestions[:MAX_NEAR])}" if error.suggestions else ""
        match error:
            case errors.OutsideRoot():
                roots = ", ".join(root.path for root in self.workspace.roots)
                return f"outside the workspace ({roots}); give --root DIR for the directory it is in, or no --root"
            case errors.PolicyDenied():
                return f"{error}; a configuration given with --config can allow it"
            case errors.NoMember() | errors.NoRevision():
                return str(error)
            case errors.NoSymbol():
                return f"{error}{similar}"
            case errors.NotFound():
                return f"no such file{similar}"
            case errors.Binary():
                return "is a binary file; only text can be shown"
        return str(error)


class _Argument:
    """One argument: finds what it means, and opens the files. `stack` closes them."""

    def __init__(self, reader: TargetPrinter, label: str, context: CallContext, stack: ExitStack) -> None:
        self._reader = reader
        self._engine = reader.workspace.engine
        self._label = label
        self._context = context
        self._stack = stack

    def understand(self, text: str) -> list[Show]:
        """Return what a text means: by the grammar of selectors, or else in a forgiving way, with a note.

        Raises: ReadError.
        """
        try:
            return [resolve(readings(text), lambda target: self._prepare(target, self._label), self._exists)]
        except FINAL:
            raise
        except errors.ReadError as error:
            return self._forgive(text, error.with_traceback(None))

    def _forgive(self, text: str, failure: errors.ReadError) -> list[Show]:
        """Return what a text means that is no selector. Raises: ReadError."""
        from eyespan.dialects.suggestions import Suggestions

        found, note = plugins.load(plugins.own("FORGIVE")[0])(
            text,
            failure,
            lambda target: self._prepare(target, write_target(target)),
            Suggestions(self._engine, self._context),
        )
        print_note(self._label, note)
        return [show for _, show in found]

    def _prepare(self, target: Target, name: str) -> Show:
        """Return a function that shows a target. Raises: ReadError, if it has no file or not what it selects of it."""
        if ".." in target.revision:
            parts = iter(self._difference(target))
            return lambda headed: self._write(parts, name, headed)
        try:
            opened = self._stack.enter_context(self._open(target))
        except (errors.NotFound, errors.NotRegular) as failure:
            is_directory = getattr(failure, "what", "") == "directory"
            if is_directory and target == Target(target.path):
                return lambda headed: self._list(target.path, name, headed)
            if target.pattern and (is_directory or "*" in target.path):
                return lambda _: self._search(target)
            raise
        selected = selected_parts(opened, target, needs_numbers=self._reader.needs_numbers)
        # The first part shows that the file has what the target selects of it.
        first = list(islice(selected, 1))
        return lambda headed: self._write(chain(first, selected), name, headed, opened)

    def _exists(self, path: str) -> bool:
        from eyespan.dialects.suggestions import Suggestions

        return Suggestions(self._engine, self._context).exists(path)

    def _open(self, target: Target) -> Opened:
        is_terminal = self._reader.is_terminal
        shortened = Limits(max_line_bytes=4 * (MAX_LINE_CHARS + 1), max_line_chars=MAX_LINE_CHARS)
        request = ReadRequest(
            target.path,
            limits=shortened if is_terminal else Limits(),
            documents=self._reader.documents,
            encoding="auto" if self._reader.documents else "bom",
            counts_cut_chars=is_terminal,
            options=DocumentOptions(notebook=NotebookOptions(is_markdown=self._reader.is_markdown)),
            member=target.member,
            revision=target.revision,
        )
        return self._anywhere(target.path, lambda path: self._engine.open(replace(request, path=path), self._context))

    def _anywhere(self, path: str, take: Callable[[str], T]) -> T:
        """Return the result of `take` for a path, also for one such as `../x` if every file may be read."""
        try:
            return take(path)
        except errors.OutsideRoot:
            is_everywhere = any(root.canonical == os.sep for root in self._reader.workspace.roots)
            if os.path.isabs(path) or not is_everywhere:
                raise
            return take(os.path.realpath(path))

    def _difference(self, target: Target) -> list[tuple[str, Part]]:
        """Return the difference between two revisions, nothing if there is none. Raises: ReadError."""
        difference = plugins.load(plugins.own("DIFFERENCE")[0])
        shown, _ = difference(target, lambda side: self._stack.enter_context(self._open(side)))
        ranges = target.piece.ranges if isinstance(target.piece, Ranges) else (Lines(),)
        lines = [one for one in ranges if not isinstance(one, Place)]
        return [(write_range(one), cut_out(shown, as_char_range(one))) for one in lines] if shown else []

    def _list(self, path: str, name: str, headed: bool) -> None:
        """Show the names in a directory. Raises: ReadError."""
        listing = self._anywhere(path, lambda path: self._engine.list(path, self._context))
        if headed:
            self._reader.printer.header(self._reader.workspace.path_map.outward(name))
        self._reader.printer.listing(listing)

    def _search(self, target: Target) -> None:
        """Show the lines that match in the files of a directory or of a pattern. Raises: ReadError."""
        from eyespan.dialects.native import searches

        unread: list[str] = []

        def read(one: Target) -> bool:
            with self._open(one) as opened:
                if not opened.kind.is_text:
                    raise errors.Binary(one.path, kind=opened.kind.name)
                try:
                    self._write(selected_parts(opened, replace(one, pattern=target.pattern)), one.path, True, opened)
                except errors.NoMatch:
                    return False
            return True

        path, engine, context = target.path, self._engine, self._context
        inner = partial(searches.files_below, path, engine, context, unread, is_pattern="*" in path)
        found = searches.search_files(target, inner, read, unread, self._context)
        for note in found.notes:
            print_note(write_target(target), note)
        if not found.matching:
            raise errors.NoMatch(target.path, pattern=target.pattern)

    def _write(self, parts: Iterator[tuple[str, Part]], name: str, headed: bool, opened: Opened | None = None) -> None:
        """Write parts, each with the range that it belongs to. Raises: ReadError."""
        printer = self._reader.printer
        is_colored = opened is not None and opened.kind == kinds.TEXT and printer.is_colored
        printer.colored_lines = plugins.load(plugins.own("COLORS")[0])(opened) if is_colored else {}
        encoding = ""
        for wanted, part in parts:
            if isinstance(part, TextPart) and not part.line_count:
                if part.total_lines:
                    raise errors.PastEnd("", part="line", wanted=wanted, document="the file", total=part.total_lines)
                if self._reader.is_terminal:
                    print("eyespan: the file is empty", file=sys.stderr)
                continue
            if headed:
                printer.header(self._reader.workspace.path_map.outward(name))
            headed = False
            if isinstance(part, TextPart) and part.encoding not in ("utf-8", encoding):
                encoding = part.encoding
                print_note(name, f"decoded from {encoding}; --raw shows the bytes")
            printer.part(part)


def renewing_context(deadline_seconds: float | None, ledger: Ledger | None = None) -> CallContext:
    """Return the context of a read whose time starts again with enough progress."""
    renewed_bytes = 0

    def on_progress(done_bytes: int, total_bytes: int) -> None:
        nonlocal renewed_bytes
        if not 0 <= done_bytes - renewed_bytes < RENEWING_BYTES:
            renewed_bytes = done_bytes
            context.renew()

    context = CallContext(deadline_seconds, on_progress, ledger=ledger)
    return context
