"""`eyespan read`: files for people. Numbers, colour on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys

from eyespan import errors, kinds
from eyespan.cli.options import COMMON, Arguments, Option, UsageError, one_of
from eyespan.context import CallContext
from eyespan.dialects.terminal import MAX_LINE_CHARS, Terminal
from eyespan.escape import visible
from eyespan.model import Limits, Lines, NotePart, ReadRequest, Tail, TextPart
from eyespan.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from eyespan.dialects.json_lines import JsonLines
    from eyespan.model import CharRange, Part
    from eyespan.opened import Opened
    from eyespan.selectors import Range, Ranges, Target
    from eyespan.workspace import Workspace

HELP = """\
usage: eyespan read PATH[:LINES]... [options]

Shows files with line numbers: in colour on a terminal, plain in a pipe. Source
code has colours with the extra `color`: pip install 'eyespan[color]'.

  eyespan read app.py             all of it
  eyespan read app.py:10-20       lines 10 to 20
  eyespan read app.py:10-         from line 10 on
  eyespan read app.py:10+5        5 lines from line 10
  eyespan read app.py:1-5,40-45   several ranges
  eyespan read build.log:-50      the last 50 lines
  eyespan read app.py::main       one function or class
  eyespan read app.py:303::       the function around line 303
  eyespan read 'app.py?def \\w+'   the lines that match a regular expression
  eyespan read a.py b.py:7        several files
  eyespan read src                the names in a directory
  git diff | eyespan read -       standard input; -:10-20 for some of its lines
  eyespan read paper.pdf:p2       PDFs, notebooks and office files, as text
  eyespan read app.log.gz:-50     compressed files, as if they were not
  eyespan read logs.zip           the names in an archive; logs.zip!/app.log:9
  eyespan read app.sqlite:users   databases and Parquet files: schema and rows
  eyespan read app.py@HEAD~3      an older version, in a git repository
  eyespan read app.py@HEAD~3..    the difference since then; v1..v2 between two

Without --root every file can be read that you can read. Names of secrets
(.env, private keys) are refused unless a configuration allows them.

On a terminal, control and direction characters are shown as escapes and very
long lines are shortened; in a pipe everything is exact. The time of --timeout
starts again whenever lines were shown. Exit status: 0; 1 when a file could not
be read; 2 for wrong usage.
"""

LEAVES_AT_ONCE = True
RENEWING_BYTES = 1 << 20
"""Progress that counts as an answer: a person may wait for a long scan, but not for a byte a second."""
MAX_PAGES = 10_000
MAX_NEAR = 20
"""The similar paths that are listed after an error."""


OPTIONS = {
    "options": (
        Option("-n", "--numbers", text="with line numbers (the default)"),
        Option("-N", "--no-numbers", field="numbers", constant=False, text="without line numbers"),
        Option("--json", text="one JSON object per part and per error, each on a line"),
        Option("--raw", field="documents", constant="none", text="documents as the bytes they are"),
        Option("--document", field="documents", constant="all", text="HTML, mail, CSV and calendars as documents"),
        Option(
            "--color",
            value="WHEN",
            convert=one_of("auto", "always", "never"),
            text="auto (default), always or never; NO_COLOR is honoured",
        ),
        Option("--no-pager", text="do not show long output of a terminal in $PAGER"),
    ),
    "common options": COMMON,
}


def main(arguments: Arguments) -> int:
    """Show the files. Returns 1 when one could not be read."""
    paths = arguments.operands
    if not paths:
        raise UsageError("read needs a path. Try: eyespan read --help")
    values = arguments.values
    color = values.get("color", "auto")
    documents = _document_kinds(values.get("documents", ""))
    is_json = values.get("json", False)
    terminal = sys.stdout.isatty() and not is_json
    colored = color == "always" or (color == "auto" and terminal and not os.environ.get("NO_COLOR"))
    workspace = arguments.workspace(is_confined=False)
    pager = None
    if terminal and not values.get("no_pager"):
        from eyespan.cli.pager import Pager

        pager = Pager()
    if is_json:
        from eyespan.dialects.json_lines import JsonLines

        printer: Terminal | JsonLines = JsonLines(_write)
    else:
        numbers = values.get("numbers", True)
        printer = Terminal(_write, has_numbers=numbers, is_terminal=terminal, is_colored=colored)
    reader = _Reader(workspace, printer, terminal, documents, needs_numbers=values.get("numbers", False))
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


class _Reader:
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
        self._workspace = workspace
        self._needs_numbers = needs_numbers
        """The person asked for line numbers, whatever they cost."""
        self._documents = documents
        self._limits = Limits()
        if terminal:
            self._limits = Limits(max_line_bytes=4 * (MAX_LINE_CHARS + 1), max_line_chars=MAX_LINE_CHARS)
        self._is_terminal = terminal
        self._printer = printer
        self._is_colored = isinstance(printer, Terminal) and printer.is_colored
        self._near: tuple[str, ...] = ()
        """Paths that the last wrong path may mean."""

    def show(self, text: str, headed: bool) -> bool:
        """Show one argument; return False if it could not be read, with the reason on standard error."""
        self._printer.start(text)
        self._near = ()
        if text != "-" and not text.startswith(("-:", "-!/")):
            return self._show_file(text, text, headed)
        from eyespan.cli.standard_input import NAME, StandardInput
        from eyespan.workspace import Workspace

        try:
            with StandardInput() as directory, Workspace(directory) as own:
                reader = _Reader(own, self._printer, self._is_terminal, self._documents)
                return reader._show_file(NAME + text[1:], text, headed)
        except OSError as error:
            failure = errors.from_os_error(error, "")
            return self._report(text, failure, f"cannot keep standard input: {error.strerror or error}")

    def _show_file(self, text: str, label: str, headed: bool) -> bool:
        try:
            with _Progress(label) as progress:
                context = progress.context = CallContext(self._workspace.engine.deadline_seconds, progress)
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
                    self._forgive(text, label, error, context, progress, headed)
        except errors.ReadError as error:
            return self._report(label, error, self._advice(error))
        return True

    def _report(self, label: str, error: errors.ReadError, message: str) -> bool:
        sys.stdout.flush()
        print(f"eyespan: {visible(label)}: {message}", file=sys.stderr)
        self._printer.error(error, message)
        return False

    def _list(self, text: str, label: str, context: CallContext, headed: bool) -> None:
        """Show the names in a directory. Raises: ReadError."""
        try:
            listing = self._workspace.engine.list(text, context)
        except errors.OutsideRoot:
            path = self._below_everything(text)
            if path is None:
                raise
            listing = self._workspace.engine.list(path, context)
        if headed:
            self._printer.header(label)
        self._printer.listing(listing)

    def _exact(self, text: str, label: str, context: CallContext, progress: _Progress, headed: bool) -> None:
        """Show the file that a text names, with or without a selector. Raises: ReadError."""
        try:
            opened = self._open_file(text, context)
        except errors.NotRegular as failure:
            if failure.what != "directory":
                raise
            self._list(text, label, context, headed)
        except (errors.SystemFailure, errors.InvalidPath) as missing:
            self._resolve(text, missing, context, progress, headed)
        else:
            with opened:
                if opened.kind.layout in ("text", "notes"):  # the usual case, without the grammar of selectors
                    self._write_parts(_whole(opened), label, progress, headed, opened)
                    return
                from eyespan.selectors import Target

                self._show(opened, Target(text), label, progress, headed)

    def _forgive(
        self,
        text: str,
        label: str,
        failure: errors.ReadError,
        context: CallContext,
        progress: _Progress,
        headed: bool,
    ) -> None:
        """Show what a text means that is no selector, after a note about it. Raises: ReadError."""
        from eyespan.dialects.native.suggestions import Suggestions
        from eyespan.selectors import Target, readings, write_target
        from eyespan.selectors.forgive import (
            better_error,
            describe_reading,
            forgive,
            is_vague,
            likely_path,
            may_forgive,
        )

        if not may_forgive(failure):
            raise failure
        suggestions = Suggestions(self._workspace.engine, context)
        opened: list[Opened] = []

        def take(target: Target) -> Callable[[bool], None]:
            name = write_target(target)
            try:
                one = self._open(target, context)
            except errors.NotRegular as failure:
                if failure.what != "directory" or target != Target(target.path):
                    raise
                return lambda headed: self._list(target.path, name, context, headed)
            opened.append(one)
            parts = self._parts(one, target)
            # The first part shows that the file has what the target selects of it.
            first = next(parts, None)
            shown = iter(()) if first is None else _with_first(first, parts)
            return lambda headed: self._write_parts(shown, name, progress, headed, one)

        try:
            try:
                found, missing = forgive(text, take, lambda path: suggestions.locate(path).certain)
            except (errors.TimedOut, errors.Cancelled):
                raise
            except errors.ReadError as error:
                better = better_error(failure, error, readings(text))
                if is_vague(better) and not isinstance(better, errors.OutsideRoot):
                    self._near = tuple(suggestions.near(likely_path(readings(text)))[:MAX_NEAR])
                raise better from None
            progress.clear()
            sys.stdout.flush()
            note = describe_reading([target for target, _ in found], missing)
            print(f"eyespan: {visible(label)}: {visible(note)}", file=sys.stderr)
            for _, show in found:
                show(headed or len(found) > 1)
        finally:
            for one in opened:
                one.close()

    def _resolve(
        self, text: str, missing: errors.ReadError, context: CallContext, progress: _Progress, headed: bool
    ) -> None:
        """Show what a path followed by a selector names. Raises: ReadError."""
        from eyespan.selectors import Target, is_missing, readings, resolve

        if not is_missing(missing):
            raise missing
        targets = readings(text)[1:]
        if not targets:
            raise missing

        def take(target: Target) -> None:
            if ".." in target.revision:
                self._show_difference(target, text, context, progress, headed)
                return
            try:
                opened = self._open(target, context)
            except (errors.NotFound, errors.NotRegular) as failure:
                if not target.pattern or target.piece is not None or not _names_several(target.path, failure):
                    raise
                self._search(target, context, progress)
                return
            with opened:
                self._show(opened, target, text, progress, headed)

        def exists(path: str) -> bool:
            try:
                self._open(Target(path), context).close()
            except errors.TimedOut:
                raise
            except errors.ReadError:
                return False
            return True

        try:
            resolve(targets, take, exists)
        except (errors.NoMember, errors.NoRevision):
            raise
        except errors.ReadError as error:
            raise (missing if is_missing(error) else error) from None

    def _search(self, target: Target, context: CallContext, progress: _Progress) -> None:
        """Show the lines that match in the files of a directory or of a pattern. Raises: ReadError."""
        import time

        from eyespan.dialects.native import searches
        from eyespan.selectors import write_target

        path = target.path.rstrip("/") or "/"
        below = searches.files_like if "*" in path else searches.files_below
        end = time.monotonic() + searches.MAX_SECONDS
        count = 0
        for searched, one in enumerate(below(path, self._workspace.engine, context)):
            late = time.monotonic() > end
            if late or searched >= searches.MAX_FILES or count >= searches.MAX_MATCHING_FILES:
                print(f"eyespan: {visible(write_target(target))}: stopped at {visible(one.path)}", file=sys.stderr)
                break
            context.check()
            try:
                with self._open(one, context) as opened:
                    if opened.kind.is_text:
                        self._show(opened, replace(one, pattern=target.pattern), one.path, progress, True)
                        count += 1
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError:
                continue  # a file that cannot be read has no line that matches
        if not count:
            raise errors.NoMatch(target.path, pattern=target.pattern)

    def _show_difference(
        self, target: Target, text: str, context: CallContext, progress: _Progress, headed: bool
    ) -> None:
        """Show the difference between two revisions, nothing if there is none. Raises: ReadError."""
        from eyespan.dialects.differences import difference, is_difference
        from eyespan.dialects.pieces import as_char_range, cut_out
        from eyespan.selectors import Place, Ranges, write_range

        if not is_difference(target):
            raise errors.NoRevision(target.path, revision=target.revision, reason=f"no revision '{target.revision}'")
        opened: list[Opened] = []

        def open_file(side: Target) -> Opened:
            opened.append(self._open(side, context))
            return opened[-1]

        try:
            shown, _ = difference(target, open_file)
        finally:
            for one in opened:
                one.close()
        if not shown:
            return
        ranges = target.piece.ranges if isinstance(target.piece, Ranges) else (Lines(),)
        lines = [one for one in ranges if not isinstance(one, Place)]
        parts = [(write_range(one), cut_out(shown, as_char_range(one))) for one in lines]
        self._write_parts(iter(parts), text, progress, headed)

    def _open(self, target: Target, context: CallContext) -> Opened:
        return self._open_file(target.path, context, member=target.member, revision=target.revision)

    def _open_file(self, asked: str, context: CallContext, *, member: str = "", revision: str = "") -> Opened:
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
            return self._workspace.engine.open(request, context)
        except errors.OutsideRoot:
            path = self._below_everything(asked)
            if path is None:
                raise
            return self._workspace.engine.open(replace(request, path=path), context)

    def _below_everything(self, path: str) -> str | None:
        """Return the absolute path of a relative one (`../x`), if every file of the machine may be read; else None."""
        if os.path.isabs(path) or not any(root.canonical == os.sep for root in self._workspace.roots):
            return None
        return os.path.realpath(path)

    def _show(self, opened: Opened, target: Target, text: str, progress: _Progress, headed: bool) -> None:
        """Write what a target selects of an opened file. Raises: ReadError."""
        self._write_parts(self._parts(opened, target), text, progress, headed, opened)

    def _write_parts(
        self,
        parts: Iterator[tuple[str, Part]],
        text: str,
        progress: _Progress,
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

    def _parts(self, opened: Opened, target: Target) -> Iterator[tuple[str, Part]]:
        """Yield the parts that a target selects, each with the range it belongs to."""
        piece = target.piece
        if target.pattern:
            from eyespan.dialects.pieces import rows_not_pattern

            rows = rows_not_pattern(target, opened.kind)
            yield from _matching_parts(opened, target) if rows is None else self._parts(opened, rows)
            return
        if piece is None and opened.kind.layout in ("text", "notes"):
            yield from _whole(opened)
            return
        from eyespan.dialects import pieces
        from eyespan.selectors import Ranges, write_range

        if opened.kind in (kinds.TEXT, kinds.BINARY):
            if opened.source.is_version and isinstance(piece, Ranges) and not self._needs_numbers:
                target = replace(target, piece=_without_costly_numbers(opened, piece))
            yield from _text_parts(opened, target, pieces)
            return
        choice = pieces.choose(target.path, opened.kind, piece, max_pages=MAX_PAGES, has_images=False)
        if choice.as_text or opened.kind.layout == "text":
            for one in choice.within or (Lines(),):
                for selection in _selections(one, lambda wanted: _one(opened, wanted, choice), pieces):
                    document = opened.read(selection, options=choice.options, as_text=choice.as_text)
                    for part in document.parts:
                        yield write_range(one), part
            return
        document = opened.read(options=choice.options)
        if not document.parts and "total_pages" in document.extra:
            total, first = document.extra["total_pages"], choice.options.pdf.first
            raise errors.PastEnd("", part="page", wanted=str(first), document="the PDF", total=total)
        if not choice.within:
            for part in document.parts:
                yield "", part
            return
        notes = [part.text for part in document.parts if isinstance(part, NotePart)]
        whole = "".join([note if note.endswith("\n") else f"{note}\n" for note in notes])
        for one in choice.within:
            for selection in _selections(one, lambda wanted: pieces.cut_out(whole, wanted), pieces):
                yield write_range(one), pieces.cut_out(whole, pieces.as_char_range(selection))

    def _advice(self, error: errors.ReadError) -> str:
        """Return what went wrong and what to do next."""
        match error:
            case errors.OutsideRoot():
                roots = ", ".join(root.path for root in self._workspace.roots)
                return f"outside the workspace ({roots}); give --root DIR for the directory it is in, or no --root"
            case errors.PolicyDenied():
                return f"{error}; a configuration given with --config can allow it"
            case errors.NoMember() | errors.NoRevision():
                return str(error)
            case errors.NoSymbol() if error.suggestions:
                return f"{error}; similar: {', '.join([visible(name) for name in error.suggestions])}"
            case errors.NotFound() if self._near:
                return f"no such file; similar: {', '.join([visible(name) for name in self._near])}"
            case errors.NotFound():
                return "no such file"
            case errors.Binary():
                return "is a binary file; only text can be shown"
        return str(error)


def _whole(opened: Opened) -> Iterator[tuple[str, Part]]:
    """Yield all parts of a file that is shown as text."""
    for part in opened.stream():
        yield "", part


def _with_first(first: tuple[str, Part], others: Iterator[tuple[str, Part]]) -> Iterator[tuple[str, Part]]:
    yield first
    yield from others


def _without_costly_numbers(opened: Opened, piece: Ranges) -> Ranges:
    """Return the ranges with last lines that are not numbered, if only many requests to a store could number them."""
    from eyespan.readers.text import is_count_costly
    from eyespan.selectors import Ranges

    if not any(isinstance(one, Tail) for one in piece.ranges) or not is_count_costly(opened):
        return piece
    print("eyespan: the last lines are not numbered, because that reads all of the file; -n does", file=sys.stderr)
    return Ranges(tuple([Tail(one.count, numbered=False) if isinstance(one, Tail) else one for one in piece.ranges]))


def _text_parts(opened: Opened, target: Target, pieces: Any) -> Iterator[tuple[str, Part]]:
    """Yield the parts of a text file that a piece selects. Raises: ReadError."""
    from eyespan.selectors import Enclosing, Named, Ranges, Symbol, Target, write_range, write_target

    match target.piece:
        case Ranges(ranges):
            for one in ranges:
                for selection in _selections(one, lambda wanted: _one(opened, wanted), pieces):
                    for part in opened.stream(selection):
                        yield write_range(one), part
        case Symbol(name) | Named(name, ()):
            base = write_target(Target(target.path, None, target.member, target.revision))
            symbols, _, notes = pieces.symbol_ranges(opened, name, base)
            _print_notes(target, notes)
            for found in symbols:
                for part in opened.stream(Lines(found.first, found.last - found.first + 1)):
                    yield f"{found.first}-{found.last}", part
        case Enclosing(ranges):
            base = write_target(Target(target.path, None, target.member, target.revision))
            around, _, notes = pieces.enclosing_ranges(opened, ranges, base)
            _print_notes(target, notes)
            for found in around:
                for part in opened.stream(Lines(found.first, found.last - found.first + 1)):
                    yield f"{found.first}-{found.last}", part
        case piece:
            raise pieces.no_such_part(target.path, opened.kind, piece)


def _names_several(path: str, failure: errors.ReadError) -> bool:
    """Return True if a path that is no file names several: a directory, or a pattern."""
    return "*" in path if isinstance(failure, errors.NotFound) else getattr(failure, "what", "") == "directory"


def _print_notes(target: Target, notes: Sequence[str]) -> None:
    """Print what matters about the symbols of a target, such as an end that may be wrong."""
    from eyespan.selectors import write_target

    for note in notes:
        print(f"eyespan: {visible(write_target(target))}: {visible(note)}", file=sys.stderr)


def _matching_parts(opened: Opened, target: Target) -> Iterator[tuple[str, Part]]:
    """Yield the lines that match the pattern of a target, with the lines around them. Raises: ReadError."""
    from eyespan.dialects import pieces
    from eyespan.dialects.native.searches import compile_search, matching_lines, windows
    from eyespan.dialects.native.text import FileText
    from eyespan.dialects.native.wanted import line_ranges
    from eyespan.model import CharRange
    from eyespan.selectors import Enclosing, Named, Ranges, Symbol, Target, write_target

    if opened.kind.layout != "text":
        raise pieces.no_such_part(target.path, opened.kind, Ranges(()))
    text = FileText(opened)
    base = write_target(Target(target.path, None, target.member, target.revision))
    ranges: tuple[CharRange, ...]
    match target.piece:
        case None:
            ranges = (CharRange(),)
        case Ranges(several):
            ranges = line_ranges(text, several)
        case Symbol(name) | Named(name, ()):
            ranges, _, notes = pieces.symbol_ranges(opened, name, base)
            _print_notes(target, notes)
        case Enclosing(several):
            ranges, _, notes = pieces.enclosing_ranges(opened, several, base)
            _print_notes(target, notes)
        case piece:
            raise pieces.no_such_part(target.path, opened.kind, piece)
    search = compile_search(target.pattern, CallContext())
    stopped: list[int] = []
    matches = [number for number, _ in matching_lines(text, ranges, search, [], stopped)]
    if stopped:
        print(f"eyespan: {visible(target.path)}: searched up to line {stopped[0] - 1}", file=sys.stderr)
    if not matches:
        raise errors.NoMatch(target.path, pattern=target.pattern)
    for found in windows(matches, ranges):
        assert found.last is not None
        for part in opened.stream(Lines(found.first, found.last - found.first + 1)):
            yield f"{found.first}-{found.last}", part


def _selections(one: Range, read: Callable[[CharRange], TextPart], pieces: Any) -> Iterator[Lines | Tail | CharRange]:
    """Yield the selection that a range of a selector means; the lines around a place."""
    from eyespan.selectors import Place

    if isinstance(one, Place):
        around, _ = pieces.around_place(read, one.line, one.column)
        yield Lines(around.first, around.last - around.first + 1) if around.max_chars is None else around
    else:
        yield one


def _one(opened: Opened, wanted: CharRange, choice: Any = None) -> TextPart:
    if choice is None:
        part: Any = opened.read(wanted).parts[0]
    else:
        part = opened.read(wanted, options=choice.options, as_text=choice.as_text).parts[0]
    found: TextPart = part
    return found


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


class _Progress:
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
        import time

        return time.monotonic()

    def __enter__(self) -> _Progress:
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
