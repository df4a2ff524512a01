"""Read what the arguments of `eyespan read` name, and write it to standard output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eyespan import errors, kinds
from eyespan.cli.pager import Pager
from eyespan.cli.standard_input import NAME, StandardInput
from eyespan.context import CallContext
from eyespan.dialects.json_lines import JsonLines
from eyespan.dialects.terminal import MAX_LINE_CHARS, Terminal
from eyespan.escape import visible
from eyespan.model import Limits, Part, ReadRequest, TextPart
from eyespan.opened import Opened
from eyespan.selectors import Target
from eyespan.workspace import Workspace

if TYPE_CHECKING:
    from eyespan.cli.selected import Selected


RENEWING_BYTES = 1 << 20
"""Progress that counts as an answer: a person may wait for a long scan, but not for a byte a second."""


def show(
    paths: Sequence[str], values: Mapping[str, Any], workspace: Workspace, *, is_terminal: bool, is_colored: bool
) -> int:
    """Show the files that the arguments name. Returns 1 when one could not be read."""
    pager = None
    if is_terminal and not values.get("no_pager"):
        pager = Pager()
    if values.get("json"):
        printer: Terminal | JsonLines = JsonLines(_write)
    else:
        has_numbers = values.get("numbers", True)
        printer = Terminal(_write, has_numbers=has_numbers, is_terminal=is_terminal, is_colored=is_colored)
    documents = _document_kinds(values.get("documents", ""))
    reader = Reader(workspace, printer, is_terminal, documents, needs_numbers=values.get("numbers", False))
    try:
        return 1 if sum([not reader.show(path, headed=len(paths) > 1) for path in paths]) else 0
    finally:
        if pager is not None:
            pager.wait()


def _document_kinds(choice: str) -> frozenset[str]:
    """Return the kinds that are shown as documents: "none", "all", or those that are not text too."""
    if choice == "none":
        return frozenset()
    shown = kinds.shown_in("terminal")
    return shown | kinds.sources() if choice == "all" else shown


class Reader:
    """Reads what the arguments name and writes it to standard output."""

    def __init__(
        self,
        workspace: Workspace,
        printer: Terminal | JsonLines,
        terminal: bool,
        documents: frozenset[str],
        *,
        needs_numbers: bool = False,
    ) -> None:
        self.workspace = workspace
        self.needs_numbers = needs_numbers
        """The person asked for line numbers, whatever they cost."""
        self._documents = documents
        self._limits = Limits()
        if terminal:
            self._limits = Limits(max_line_bytes=4 * (MAX_LINE_CHARS + 1), max_line_chars=MAX_LINE_CHARS)
        self._is_terminal = terminal
        self._printer = printer
        self._is_colored = isinstance(printer, Terminal) and printer.is_colored
        self.near: tuple[str, ...] = ()
        """Paths that the last wrong path may mean."""

    def show(self, text: str, headed: bool) -> bool:
        """Show one argument; return False if it could not be read, with the reason on standard error."""
        self._printer.start(text)
        self.near = ()
        if text != "-" and not text.startswith(("-:", "-!/")):
            return self._show_file(text, text, headed)
        try:
            with StandardInput() as directory, Workspace(directory) as own:
                reader = Reader(own, self._printer, self._is_terminal, self._documents)
                return reader._show_file(NAME + text[1:], text, headed)
        except OSError as error:
            failure = errors.from_os_error(error, "")
            return self._report(text, failure, f"cannot keep standard input: {error.strerror or error}")

    def _show_file(self, text: str, label: str, headed: bool) -> bool:
        try:
            with Progress(label) as progress:
                context = progress.context = CallContext(self.workspace.engine.deadline_seconds, progress)
                try:
                    self._exact(text, label, context, progress, headed)
                except (
                    errors.TimedOut,
                    errors.Cancelled,
                    errors.PastEnd,
                    errors.StoreFailure,
                    errors.Changed,
                    errors.NoMatch,
                ):
                    raise
                except errors.ReadError as error:
                    self._selected().forgive(text, label, error, context, progress, headed)
        except errors.ReadError as error:
            return self._report(label, error, self._advice(error))
        return True

    def _selected(self) -> Selected:
        from eyespan.cli.selected import Selected

        return Selected(self)

    def _report(self, label: str, error: errors.ReadError, message: str) -> bool:
        sys.stdout.flush()
        print(f"eyespan: {visible(label)}: {message}", file=sys.stderr)
        self._printer.error(error, message)
        return False

    def list_names(self, text: str, label: str, context: CallContext, headed: bool) -> None:
        """Show the names in a directory. Raises: ReadError."""
        try:
            listing = self.workspace.engine.list(text, context)
        except errors.OutsideRoot:
            path = self._below_everything(text)
            if path is None:
                raise
            listing = self.workspace.engine.list(path, context)
        if headed:
            self._printer.header(label)
        self._printer.listing(listing)

    def _exact(self, text: str, label: str, context: CallContext, progress: Progress, headed: bool) -> None:
        """Show the file that a text names, with or without a selector. Raises: ReadError."""
        try:
            opened = self.open_file(text, context)
        except errors.NotRegular as failure:
            if failure.what != "directory":
                raise
            self.list_names(text, label, context, headed)
        except (errors.SystemFailure, errors.InvalidPath) as missing:
            self._selected().resolve(text, missing, context, progress, headed)
        else:
            with opened:
                if opened.kind.layout in ("text", "notes"):  # the usual case, without the grammar of selectors
                    self.write_parts(_whole_parts(opened), label, progress, headed, opened)
                    return
                self._selected().show(opened, Target(text), label, progress, headed)

    def open_file(self, asked: str, context: CallContext, *, member: str = "", revision: str = "") -> Opened:
        request = ReadRequest(
            asked,
            limits=self._limits,
            documents=self._documents,
            encoding="bom",
            counts_cut_chars=self._is_terminal,
            member=member,
            revision=revision,
        )
        try:
            return self.workspace.engine.open(request, context)
        except errors.OutsideRoot:
            path = self._below_everything(asked)
            if path is None:
                raise
            return self.workspace.engine.open(replace(request, path=path), context)

    def _below_everything(self, path: str) -> str | None:
        """Return the absolute path of a relative one (`../x`), if every file of the machine may be read; else None."""
        if os.path.isabs(path) or not any(root.canonical == os.sep for root in self.workspace.roots):
            return None
        return os.path.realpath(path)

    def write_parts(
        self,
        parts: Iterator[tuple[str, Part]],
        text: str,
        progress: Progress,
        headed: bool,
        opened: Opened | None = None,
    ) -> None:
        if isinstance(self._printer, Terminal):
            self._printer.colored_lines = self._colored_lines(opened)
        is_first = True
        for wanted, part in parts:
            progress.clear()
            if isinstance(part, TextPart) and not part.line_count:
                self._check_lines(part, wanted)
                continue
            if headed and is_first:
                self._printer.header(text)
            is_first = False
            self._printer.part(part)

    def _colored_lines(self, opened: Opened | None) -> dict[int, list[tuple[str, str]]]:
        """Return the lines of a source text with colours, if the terminal shows them and the extra is installed."""
        if opened is None or opened.kind != kinds.TEXT or not self._is_colored:
            return {}
        from eyespan.cli import highlight

        return highlight.colored_lines(opened, opened.context) if highlight.is_installed() else {}

    def _check_lines(self, part: TextPart, wanted: str) -> None:
        """Raises: PastEnd, unless the file is empty."""
        if part.total_lines:
            raise errors.PastEnd("", part="line", wanted=wanted, document="the file", total=part.total_lines)
        if self._is_terminal:
            print("eyespan: the file is empty", file=sys.stderr)

    def _advice(self, error: errors.ReadError) -> str:
        """Return what went wrong and what to do next."""
        match error:
            case errors.OutsideRoot():
                roots = ", ".join(root.path for root in self.workspace.roots)
                return f"outside the workspace ({roots}); give --root DIR for the directory it is in, or no --root"
            case errors.PolicyDenied():
                return f"{error}; a configuration given with --config can allow it"
            case errors.NoMember() | errors.NoRevision():
                return str(error)
            case errors.NoSymbol() if error.suggestions:
                return f"{error}; similar: {', '.join([visible(name) for name in error.suggestions])}"
            case errors.NotFound() if self.near:
                return f"no such file; similar: {', '.join([visible(name) for name in self.near])}"
            case errors.NotFound():
                return "no such file"
            case errors.Binary():
                return "is a binary file; only text can be shown"
        return str(error)


def _whole_parts(opened: Opened) -> Iterator[tuple[str, Part]]:
    """Yield all parts of a file that is shown as text."""
    for part in opened.stream():
        yield "", part


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


class Progress:
    """A bar on standard error, once a scan takes longer than a second and a person is watching."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = False
        self._on = sys.stderr.isatty()
        self._start = self._now() if self._on else 0.0
        self._renewed_bytes = 0
        self.context: CallContext | None = None
        """Of the read that is watched; with enough progress its time starts anew."""

    @staticmethod
    def _now() -> float:
        return time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        if self.context is not None and not 0 <= done_bytes - self._renewed_bytes < RENEWING_BYTES:
            self._renewed_bytes = done_bytes
            self.context.renew()
        if not self._on or total_bytes <= 0:
            return
        now = self._now()
        if now - self._start < 1.0:
            return
        self._start = now - 0.9  # ten times a second
        share = min(1.0, done_bytes / total_bytes)
        bar = "█" * int(share * 30)
        megabytes = f"{done_bytes / 1e6:,.0f} of {total_bytes / 1e6:,.0f} MB"
        sys.stderr.write(f"\r\x1b[K{visible(self._name)[:40]} {bar:·<30} {share:4.0%}  {megabytes}")
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
