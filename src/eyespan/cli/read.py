"""`eyespan read`: files for people. Numbers, colour on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys

from eyespan import errors, kinds
from eyespan._native import number
from eyespan.cli import Options, Usage
from eyespan.context import CallContext
from eyespan.model import ImagePart, Limits, Lines, NotePart, ReadRequest, Tail, TextPart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eyespan.model import Part, Selection
    from eyespan.selectors import Target
    from eyespan.workspace import Workspace

HELP = """\
usage: eyespan read PATH[:LINES]... [options]

Shows files with line numbers: in colour on a terminal, plain in a pipe.

  eyespan read app.py              all of it
  eyespan read app.py:10-20        lines 10 to 20
  eyespan read app.py:10-          from line 10 on
  eyespan read app.py:10+5         5 lines from line 10
  eyespan read app.py:1-5,40-45    several ranges
  eyespan read build.log:-50       the last 50 lines
  eyespan read a.py b.py:7         several files
  eyespan read paper.pdf           the text of PDFs, notebooks and office files, as Markdown
  eyespan read app.log.gz:-50      compressed files, as if they were not
  eyespan read logs.zip            what an archive holds; logs.zip!/app/today.log:10-20 is of one member
  eyespan read app.sqlite:users    databases and Parquet files: schema and rows
  eyespan read app.py@HEAD~3       as it was, in a git repository

options
  -n, --no-numbers     without line numbers
  --raw                documents as the bytes they are; --document: HTML, mail and CSV as what they say
  --color WHEN         auto (default), always or never; NO_COLOR is honoured
  --root DIR           a folder that may be read (default: the current folder)
  --config FILE        a configuration file
  --timeout SECONDS    how long to wait for the file: for its first lines, and for more behind those shown (10)

On a terminal, control and direction characters are shown as escapes and very long lines are shortened; in a pipe
everything is exact. Exit status: 0, 1 when a file could not be read, 2 for wrong usage.
"""

LEAVES_AT_ONCE = True
TERMINAL_LINE_CHARS = 2000
RENEWING_BYTES = 1 << 20
"""Progress that counts as an answer: a person may wait for a long scan, but not for a byte a second."""
DOCUMENTS = kinds.PACKED | {"image", "pdf", "notebook", "archive", "compressed", "sqlite", "parquet"}
PAGES = (kinds.OFFICE - kinds.PACKED) | {"csv"}
"""Documents that are text too: people who name one mostly want to see its source."""
_BLANKS = "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""Blanks of other widths: not printable to Python, harmless to a terminal."""
_DIM, _BOLD, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"


def main(options: Options) -> int:
    numbers, color = True, "auto"
    documents = DOCUMENTS
    paths: list[str] = []
    words = iter(options.rest)
    for word in words:
        if word == "--":
            paths.extend(words)
        elif word in ("-n", "--no-numbers"):
            numbers = False
        elif word == "--raw":
            documents = frozenset()
        elif word == "--document":
            documents = DOCUMENTS | PAGES
        elif word == "--color" or word.startswith("--color="):
            color = word.partition("=")[2] or next(words, "")
            if color not in ("auto", "always", "never"):
                raise Usage("--color takes auto, always or never")
        elif word.startswith("-") and word != "-":
            raise Usage(f"read has no option {word}. Try: eyespan read --help")
        else:
            paths.append(word)
    if not paths:
        raise Usage("read needs a path. Try: eyespan read --help")
    terminal = sys.stdout.isatty()
    colored = color == "always" or (color == "auto" and terminal and not os.environ.get("NO_COLOR"))
    workspace, _ = options.workspace()
    show = _Show(workspace, numbers, terminal, colored, documents)
    return 1 if sum([not show.file(path, headed=len(paths) > 1) for path in paths]) else 0


class _Show:
    """Writes files to standard output the way the reader at the other end can use."""

    def __init__(
        self, workspace: Workspace, numbers: bool, terminal: bool, colored: bool, documents: frozenset[str]
    ) -> None:
        self._workspace = workspace
        self._documents = documents
        self._numbers = numbers
        self._terminal = terminal
        self._colored = colored
        self._files = 0
        self._at_line_start = True

    def file(self, text: str, headed: bool) -> bool:
        """Shows one argument; False (and why, on standard error) if it could not be read."""
        try:
            try:
                self._parts(text, text, (Lines(),), headed)
            except errors.NotFound:
                self._selected(text, headed)
        except errors.ReadError as error:
            sys.stdout.flush()
            print(f"eyespan: {_escaped(text)}: {self._advice(error)}", file=sys.stderr)
            return False
        return True

    def _selected(self, text: str, headed: bool) -> None:
        """Shows what a path with a selector behind it means: the first reading of it whose file is there."""
        from eyespan import selectors  # a plain name needs no reading

        found = selectors.split(text)
        missing: errors.ReadError = errors.NotFound(text)
        if found is not None:
            try:
                self._parts(text, found[0], found[1], headed)
                return
            except errors.NotFound as error:
                missing = error
        for target in selectors.readings(text)[1:]:
            if not (target.member or target.revision or isinstance(target.piece, selectors.Named)):
                continue
            try:
                if self._target(text, target, headed):
                    return
            except (errors.NoMember, errors.NoRevision) as error:
                # A missing name with an @ in it is no question about the past.
                if not isinstance(missing, errors.NoMember) and (
                    isinstance(error, errors.NoMember) or self._is_there(target.path)
                ):
                    missing = error
            except errors.NotFound:
                pass
        raise missing

    def _target(self, text: str, target: Target, headed: bool) -> bool:
        """Shows a member, a file of the past or a table; False if the selector is none of a kind that is shown here."""
        from eyespan import selectors

        selections: tuple[Selection, ...] = (Lines(),)
        table = ""
        match target.piece:
            case None:
                pass
            case selectors.Ranges(ranges):
                selections = tuple([one for one in ranges if isinstance(one, (Lines, Tail))])
                if len(selections) < len(ranges):
                    return False
            case selectors.Named(name, ()):
                table = name
                request = ReadRequest(
                    target.path, documents=self._documents, member=target.member, revision=target.revision
                )
                if self._workspace.engine.look(request).kind not in ("sqlite", "sheet"):
                    return False
            case _:
                return False
        self._parts(text, target.path, selections, headed, member=target.member, revision=target.revision, table=table)
        return True

    def _is_there(self, path: str) -> bool:
        try:
            self._workspace.engine.look(ReadRequest(path))
        except errors.TimedOut:
            raise
        except errors.ReadError:
            return False
        return True

    def _parts(
        self,
        text: str,
        path: str,
        selections: tuple[Selection, ...],
        headed: bool,
        *,
        member: str = "",
        revision: str = "",
        table: str = "",
    ) -> None:
        limits = Limits(
            max_line_bytes=4 * (TERMINAL_LINE_CHARS + 1) if self._terminal else None,
            max_line_chars=TERMINAL_LINE_CHARS if self._terminal else None,
        )
        with _Progress(text) as progress:
            context = progress.context = CallContext(self._workspace.engine.deadline_seconds, progress)
            options: dict[str, Any] = {"pictures": False, "max_pages": 10_000}
            if table:
                options.update(table=table, sheet=table)
            for at, selection in enumerate(selections):
                request = ReadRequest(
                    path,
                    selection,
                    limits,
                    documents=self._documents,
                    options=options,
                    encoding="bom",
                    counts_cut_chars=self._terminal,
                    member=member,
                    revision=revision,
                )
                for part in self._workspace.engine.stream(request, context):
                    progress.clear()
                    if headed and at == 0:
                        self._head(text)
                        headed = False
                    if isinstance(part, TextPart):
                        self._lines(part, selection)
                    else:
                        self._note(part)

    def _head(self, text: str) -> None:
        head = f"==> {_escaped(text)} <=="
        gap = ("" if self._at_line_start else "\n") + ("\n" if self._files else "")
        self._files += 1
        self._write(f"{gap}{_BOLD}{head}{_PLAIN}\n" if self._colored else f"{gap}{head}\n")

    def _lines(self, part: TextPart, selection: Selection) -> None:
        if not part.line_count:
            if part.total_lines:
                from eyespan import selectors

                wanted = selectors.write("", selection)[1:]
                raise errors.PastEnd("", part="line", wanted=wanted, document="the file", total=part.total_lines)
            if self._terminal:
                print("eyespan: the file is empty", file=sys.stderr)
            return
        if not self._terminal and not self._colored:
            if self._numbers:
                self._write(number(bytes(part.data), part.first_line, width=6, keep_ends=True))
            else:
                self._write_bytes(bytes(part.data))
            return
        lines = part.data.decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()
        for line_number, line in enumerate(lines, part.first_line):
            shown = line.removesuffix("\r")
            if self._terminal:
                whole = part.cuts.get(line_number, len(shown))
                if whole > TERMINAL_LINE_CHARS:
                    shown = f"{_escaped(shown[:TERMINAL_LINE_CHARS])}... [line of {whole} characters]"
                else:
                    shown = _escaped(shown)
            lead = ""
            if self._numbers:
                lead = f"{_DIM}{line_number:>6}{_PLAIN}\t" if self._colored else f"{line_number:>6}\t"
            self._write(f"{lead}{shown}\n")

    def _note(self, part: Part) -> None:
        """What is not lines of the file: text out of a document, or a word on a picture."""
        if isinstance(part, NotePart):
            text = part.text
        elif isinstance(part, ImagePart):
            text = f"[a picture: {part.media_type}, {len(part.data):,} bytes]"
        else:
            text = "[data that is no text]"
        if self._terminal:
            text = "\n".join([_escaped(line) for line in text.split("\n")])
        self._write(text if text.endswith("\n") else text + "\n")

    def _write(self, text: str) -> None:
        self._write_bytes(text.encode("utf-8", "backslashreplace"))

    def _write_bytes(self, data: bytes) -> None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        self._at_line_start = data.endswith(b"\n")

    def _advice(self, error: errors.ReadError) -> str:
        """What went wrong, and what to do next."""
        match error:
            case errors.OutsideRoot():
                roots = ", ".join(root.path for root in self._workspace.roots)
                return f"outside the workspace ({roots}); give --root DIR for the folder it is in"
            case errors.PolicyDenied():
                return f"{error}; a configuration given with --config can allow it"
            case errors.NoMember() | errors.NoRevision():
                return str(error)
            case errors.NotFound():
                return "no such file" + self._near(error.path)
            case errors.NotRegular(what="directory"):
                return "is a folder; name a file in it"
            case errors.Binary():
                return "is a binary file; only text can be shown"
        return str(error)

    def _near(self, path: str) -> str:
        from eyespan import selectors

        found = selectors.split(path)
        return "" if found is None else f" (nor {_escaped(found[0])!r})"


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
        sys.stderr.write(f"\r\x1b[K{_escaped(self._name)[:40]} {bar:·<30} {share:4.0%}  {megabytes}")
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


def _escaped(text: str) -> str:
    """Text that cannot move the cursor, change colours or turn the line around: such characters are written out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join([c if not _is_hidden(c) else _written_out(c) for c in text])


def _is_hidden(character: str) -> bool:
    """Control characters, direction marks, characters without width, tags: everything but a tab that is not seen."""
    if character == "\t" or character.isprintable():
        return character == "\u115f" or "\U000e0000" <= character <= "\U000e0fff"
    return character not in _BLANKS


def _written_out(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
