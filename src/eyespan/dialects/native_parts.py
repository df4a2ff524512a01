"""One call of the native dialect: targets become parts, parts share the budget, what is left out gets its selector.

The rooms before this one know nothing of each other: `selectors` what was asked for, the engine what is there,
`layout` how lines look, `versions` what the caller holds, `fidelity` what cannot be seen. Here they meet.
"""

from __future__ import annotations

from eyespan import errors, fidelity, nearby, redaction, tokens
from eyespan.layout import Row, fitting, fitting_end
from eyespan.model import (
    CHEAP_TOTAL,
    EXACT_TOTAL,
    MIB,
    NUL_IS_BINARY,
    Lines,
    ReadRequest,
    Reply,
    ReplyError,
    Stretch,
    Tail,
    TextContent,
    TextPart,
)
from eyespan.record import record
from eyespan.selectors import (
    Area,
    Cells,
    Chars,
    Named,
    Pages,
    Place,
    Ranges,
    Symbol,
    Target,
    write_range,
    write_target,
)
from eyespan.versions import Digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from eyespan.dialects.native import Ask, Native, NativeArgs
    from eyespan.engine import Engine
    from eyespan.errors import ReadError
    from eyespan.guard.listing import Listing
    from eyespan.model import Content, Document, Facts, Pulse, Selection
    from eyespan.outline import Outline
    from eyespan.selectors import Piece, Range

CHARS_PER_TOKEN = 8
"""As many characters are read for each token of the budget; text that is cheaper still is read on in another call."""
LEAST_CHARS = 16 * 1024
LEAST_TOKENS = 10
"""What a part's text gets at least, so that reading on always makes progress."""
LEAST_SHARE = 60
"""A part that would get less is left out whole, unless it is the first."""
AROUND_LINES = 5
AROUND_CHARS = 500
LONG_LINE_CHARS = 2000
"""A place in a longer line is shown with the characters around it, else with the lines around it."""
OUTLINE_BYTES = 2 * MIB
OUTLINE_SHARE = 0.5
"""Of what a large source file gets, at most this much is its outline; the rest is its head."""
LEFT_TOKENS = 10
"""What the line above the names of what is left out costs."""
NOTE = "note: "
DOCUMENTS = frozenset(
    (
        "image",
        "pdf",
        "notebook",
        "docx",
        "pptx",
        "sheet",
        "epub",
        "eml",
        "archive",
        "compressed",
        "sqlite",
        "parquet",
        "csv",
    )
)
"""Kinds that are shown as what they are. HTML is source code to whoever reads a workspace."""
KINDS = {
    "text": "a text",
    "image": "a picture",
    "pdf": "a PDF",
    "notebook": "a notebook",
    "sheet": "a spreadsheet",
    "archive": "an archive",
    "sqlite": "a database",
    "parquet": "a table",
    "csv": "a table",
}
FOLDER_MARKS = {"folder": "/", "file": "", "link": "@", "other": "|"}
MAX_LEVELS_UP = 32
MAX_TRIED = 6
MAX_NAME_CHARS = 300
"""A longer name that cannot be read is not repeated whole."""


@record
class Span:
    """A stretch of lines that is wanted, from a character on; `last=None` is the end of the file."""

    first: int
    column: int = 1
    last: int | None = None
    max_chars: int | None = None
    """All that is wanted of it, for the surroundings of a place in a long line."""

    def range(self) -> Range:
        if self.column > 1:
            return Chars(self.first, self.column, self.last)
        return Lines(self.first, None if self.last is None else self.last - self.first + 1)


@record
class Shown:
    """A part as it goes into the answer."""

    text: str
    facts: dict[str, Any]
    left: tuple[str, ...] = ()
    """Selectors of what did not fit."""
    error: ReplyError | None = None
    blocks: tuple[Content, ...] = ()


@record
class Drawn:
    """Text ready to be shown: its lines, the rows among them and their hash, and what is left to read."""

    lines: list[str]
    rows: list[Row]
    value: str
    left: list[Span]
    unchanged: bool = False


class Part:
    """What one target, or several of the same file, became."""

    def need(self) -> int:
        """What all of it costs, or at least more than the budget."""
        raise NotImplementedError

    def show(self, allotted: int) -> Shown:
        """As much as this many tokens allow."""
        raise NotImplementedError

    @property
    def selector(self) -> str:
        """What gets all of it, for a part that is left out whole."""
        raise NotImplementedError


class Call:
    """One call, from targets to the answer."""

    def __init__(self, dialect: Native, args: NativeArgs, engine: Engine, pulse: Pulse) -> None:
        self.dialect = dialect
        self.args = args
        self.engine = engine
        self.pulse = pulse
        self.max_chars = max(LEAST_CHARS, args.budget * CHARS_PER_TOKEN)
        self._listings: dict[str, Listing | None] = {}

    def reply(self) -> Reply:
        parts = self._parts()
        needs = [part.need() for part in parts]
        shares = shared(needs, self.args.budget, [tokens.estimate(part.selector) + 1 for part in parts])
        shown = [part.show(share) for part, share in zip(parts, shares, strict=True) if share]
        left = [selector for one in shown for selector in one.left]
        left += [part.selector for part, share in zip(parts, shares, strict=True) if not share]
        text = "\n".join([one.text for one in shown])
        if left:
            text += "\n" + "\n".join([f"left out, over the budget of {self.args.budget}:", *left])
        structured: dict[str, Any] = {
            "parts": [one.facts for one in shown],
            "tokens": tokens.estimate(text),
            "budget": self.args.budget,
        }
        if left:
            structured["left_out"] = left
        if any("changed_during_read" in one.facts for one in shown):
            structured["changed_during_read"] = True
        failed = shown[0].error if all(one.error is not None for one in shown) else None
        error = None if failed is None else ReplyError(failed.code, text)
        blocks = [block for one in shown for block in one.blocks]
        return Reply((TextContent(text), *blocks), None if error is not None else structured, error)

    # --- from targets to parts -------------------------------------------------------------------------------------

    def _parts(self) -> list[Part]:
        parts: list[Part] = []
        texts: dict[tuple[str, str], TextFile] = {}
        for ask in self.args.asks:
            try:
                part = self._part(ask)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError as error:
                part = Failure(ask.written, error, getattr(error, "near", ()))
            if isinstance(part, TextFile):
                known = texts.setdefault(part.key, part)
                if known is not part:
                    known.add(part)
                    continue
            parts.append(part)
        return [self._loaded(part) for part in parts]

    def _loaded(self, part: Part) -> Part:
        if isinstance(part, TextFile):
            try:
                part.load()
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError as error:
                return Failure(part.selector, error)
        return part

    def _part(self, ask: Ask) -> Part:
        """What an ask means: the first of its readings whose file is there.

        Raises: ReadError.
        """
        missing: ReadError = errors.NotFound(ask.written)
        inside: ReadError | None = None
        for target in ask.readings:
            try:
                return self.resolved(target)
            except (errors.NoMember, errors.NoRevision) as error:
                # A missing name with an @ in it is no question about the past.
                if inside is None and (isinstance(error, errors.NoMember) or self._is_there(target.path)):
                    inside = error
            except (errors.NotFound, errors.InvalidPath) as error:
                missing = error
        return self._miss(ask, missing) if inside is None else Failure(ask.written, inside)

    def resolved(self, target: Target, note: str = "") -> Part:
        """Raises: ReadError."""
        try:
            document = self.engine.look(self.request(target))
        except errors.NotRegular as error:
            if error.what != "directory" or target.member or target.revision:
                raise
            return Folder(self, target, self.engine.list(target.path))
        if document.kind == "binary":
            raise errors.Binary(target.path)
        if document.kind != "text":
            from eyespan.dialects.native_documents import open_document

            return open_document(self, target, document, note)
        return self._text(target, document, note)

    def _text(self, target: Target, document: Document, note: str) -> Part:
        piece = target.piece
        file = TextFile(self, Target(target.path, None, target.member, target.revision), document.facts, note)
        if self.args.outline and not isinstance(piece, (Symbol, Ranges)):
            return OutlineOnly(file)
        match piece:
            case None:
                file.want(())
            case Ranges(ranges):
                file.want(ranges)
            case Symbol(name) | Named(name, ()):
                file.want_symbol(name)
            case _:
                raise NoSuchPart(target.path, piece, document.kind)
        return file

    def request(
        self,
        target: Target,
        selection: Selection | None = None,
        total: str = CHEAP_TOTAL,
        documents: frozenset[str] = DOCUMENTS,
    ) -> ReadRequest:
        return ReadRequest(
            target.path,
            selection or Stretch(),
            text_rule=NUL_IS_BINARY,
            documents=documents,
            options=_options(target.piece),
            encoding=self.dialect.encoding or "auto",
            total=total,
            member=target.member,
            revision=target.revision,
        )

    def read(self, target: Target, selection: Selection, total: str = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        """Text of a file, or of a document that was made text. Raises: ReadError."""
        document = self.engine.read(self.request(target, selection, total), self.pulse)
        part: Any = document.parts[0]
        if not isinstance(part, TextPart):
            raise errors.Binary(target.path, kind=document.kind)
        return part, document

    # --- help when nothing is there --------------------------------------------------------------------------------

    def _miss(self, ask: Ask, missing: ReadError) -> Part:
        """The file that looks exactly like the one named, or else what is near.

        A name that differs only in what cannot be seen is opened: nobody could type the difference.
        """
        paths = list(dict.fromkeys([target.path for target in ask.readings if not target.revision]))[:MAX_TRIED]
        for path in paths:
            found = self._alike(path)
            if found is not None:
                target = next(target for target in ask.readings if target.path == path)
                real = Target(found, target.piece, target.member, target.revision)
                return self.resolved(real, note=f"the name as asked has other characters: {_spelled(path, found)}")
        # Of several readings the one that a person would mean: with the selector taken off.
        path = next(
            (t.path for t in ask.readings[1:] if isinstance(t.piece, (Ranges, Symbol)) and not t.member), paths[0]
        )
        return Failure(ask.written, missing, self._near(path))

    def _listing(self, folder: str) -> Listing | None:
        """What a folder holds, or None if there is no such folder to list; asked once a call."""
        if folder not in self._listings:
            try:
                self._listings[folder] = self.engine.list(folder or ".")
            except errors.ReadError:
                self._listings[folder] = None
        return self._listings[folder]

    def _descent(self, path: str) -> tuple[str, list[str]] | None:
        """The deepest folder of a path that is there, with a slash behind, and the names that are not."""
        names = [name for name in path.split("/") if name]
        lead = "/" if path.startswith("/") else ""
        for depth in range(len(names) - 1, max(-1, len(names) - 1 - MAX_LEVELS_UP), -1):
            folder = lead + "/".join(names[:depth])
            if self._listing(folder) is not None:
                return f"{folder}/" if names[:depth] else lead, names[depth:]
        return None

    def _alike(self, path: str) -> str | None:
        """The one name that looks like this path, component by component; None if there is none or several."""
        found = self._descent(path)
        while found is not None:
            folder, (name, *rest) = found
            listing = self._listing(folder.rstrip("/") if folder != "/" else "/")
            names = [entry.name for entry in listing.entries] if listing is not None else []
            alike = [name] if name in names and rest else nearby.lookalikes(name, names)
            if len(alike) != 1:
                return None
            if not rest:
                return folder + alike[0]
            found = (f"{folder}{alike[0]}/", rest)
        return None

    def _near(self, path: str) -> list[str]:
        """Names that were perhaps meant, nearest first."""
        found: list[str] = []
        names = path.split("/")
        if not path.startswith("/"):
            # The workspace's own folder, or one above it, named once too often.
            found = [
                name for name in ["/".join(names[at:]) for at in range(1, min(len(names), 8))] if self._is_there(name)
            ]
        descent = self._descent(path)
        if descent is not None:
            folder, (name, *rest) = descent
            listing = self._listing(folder.rstrip("/") if folder != "/" else "/")
            if listing is not None:
                entries = {entry.name: entry.what for entry in listing.entries}
                for near in nearby.nearest(name, entries):
                    whole = "/".join([folder + near, *rest])
                    if not rest:
                        found.append(whole + ("/" if entries[near] == "folder" else ""))
                    elif entries[near] != "file":
                        found.append(whole if self._is_there(whole) else f"{folder}{near}/")
        return list(dict.fromkeys(found))[: nearby.MAX_NEAR]

    def _is_there(self, path: str) -> bool:
        try:
            self.engine.look(self.request(Target(path)))
        except errors.ReadError:
            return False
        return True


def shared(needs: Sequence[int], budget: int, names: Sequence[int]) -> list[int]:
    """What each part gets of the budget: all it needs where that is little, an equal share of the rest otherwise.

    0 is a part that is left out, from the end, where the shares would become too small to be of use; `names` is what
    naming it costs then.
    """
    if sum(needs) <= budget:
        return list(needs)
    kept = len(needs)
    left = budget - 12  # the line above the names of what is left out
    while kept > 1 and (left - sum(names[kept:])) // kept < min(LEAST_SHARE, max(needs[:kept])):
        kept -= 1
    left -= sum(names[kept:])
    shares = [0] * len(needs)
    for done, at in enumerate(sorted(range(kept), key=lambda at: needs[at])):
        shares[at] = max(1, min(needs[at], left // (kept - done)))
        left -= shares[at]
    return shares


# --- parts ---------------------------------------------------------------------------------------------------------


class Failure(Part):
    """A target that cannot be shown, and what may be done about it."""

    def __init__(self, written: str, error: ReadError, near: Sequence[str] = ()) -> None:
        from eyespan.dialects.native import in_words

        self._written = written
        self._code = error.code
        self._near = near
        said = in_words(error)
        if near:
            said += f"; near: {', '.join([_visible(name) for name in near])}"
        name = _visible(written)
        self._text = f"{name if len(name) <= MAX_NAME_CHARS else name[:MAX_NAME_CHARS] + '…'}: {said}"

    @property
    def selector(self) -> str:
        return self._written

    def need(self) -> int:
        return tokens.estimate(self._text) + 1

    def show(self, allotted: int) -> Shown:
        facts: dict[str, Any] = {"path": self._written, "error": {"code": self._code, "message": self._text}}
        if self._near:
            facts["near"] = list(self._near)
        return Shown(self._text, facts, (), ReplyError(self._code, self._text))


class TextFile(Part):
    """Pieces of one text."""

    def __init__(self, call: Call, target: Target, facts: Facts, note: str = "") -> None:
        self.call = call
        self.target = target
        """With the part of a document that the text is of, if it is of one."""
        self.base = write_target(target)
        self.key = (facts.canonical, self.base[len(target.path) :])
        self.style = call.dialect.style
        self.whole = False
        self.symbol = ""
        self.tail: int | None = None
        """Only the last lines are wanted, the very last ones first."""
        self.wanted: list[Span] = []
        self._facts = facts
        self._notes: list[str] = [note] if note else []
        self._rows: list[Row] = []
        """What was read of what is wanted: its beginning, or, of the last lines, its end."""
        self._texts: list[str] = []
        """What is shown for each row."""
        self._marks: list[list[redaction.Span]] | None = None
        self._all = True
        """Everything wanted was read."""
        self._total: int | None = None
        self._extra: dict[str, Any] = {}
        self._changed = False
        self._outline: Outline | None = None
        self._full: Drawn | None = None
        self._full_tokens = 0
        self._held_rows = -1
        self._held_value = ""

    # --- what is wanted --------------------------------------------------------------------------------------------

    def want(self, ranges: Sequence[Range]) -> None:
        """All of the text, if nothing else is said."""
        if not ranges:
            self.whole = True
        if len(ranges) == 1 and isinstance(ranges[0], Tail):
            self.tail = ranges[0].count
            return
        for one in ranges:
            match one:
                case Lines(first, count):
                    self.wanted.append(Span(first, 1, None if count is None else first + count - 1))
                case Chars(first, column, last):
                    self.wanted.append(Span(first, column, last))
                case Tail(count):
                    self.wanted.append(self._last_lines(count))
                case Place(line, column):
                    self.wanted.append(self._around(line, column))

    def want_symbol(self, name: str) -> None:
        from eyespan.outline import find, nearest

        outline = self.outline()
        found = find(outline, name)
        if not found:
            near = [f"{self.base}::{symbol.qualified}" for symbol in nearest(outline, name)]
            raise NoSymbol(self.target.path, name, near)
        self.wanted += [Span(symbol.first, 1, symbol.last) for symbol in found]
        self.symbol = found[0].qualified if len(found) == 1 else name
        if len(found) > 1:
            self._notes.append(f"{len(found)} symbols are named {name}")

    def add(self, other: TextFile) -> None:
        """Takes over what another target wants of the same file."""
        for file in (self, other):
            if file.tail is not None:
                file.wanted.append(file._last_lines(file.tail))
                file.tail = None
        self.whole = self.whole or other.whole
        self.wanted += other.wanted
        self.symbol = ""
        self._notes += [note for note in other._notes if note not in self._notes]

    def _last_lines(self, count: int) -> Span:
        part, _ = self._get(Stretch(1, 1, 1, 1), EXACT_TOTAL)
        return Span(max(1, (part.total_lines or 0) - count + 1))

    def _around(self, line: int, column: int) -> Span:
        """A few lines around a place, or of a long line a few characters."""
        part, _ = self._get(Stretch(line, 1, line, LONG_LINE_CHARS + 1))
        chars = len(part.data.decode("utf-8", "replace").rstrip("\r\n"))
        if chars > LONG_LINE_CHARS:
            return Span(line, max(1, column - AROUND_CHARS), line, 2 * AROUND_CHARS)
        if not part.line_count:
            return Span(line, 1, line)
        if column > chars + 1:
            self._notes.append(f"line {line} has {_count(chars, 'character')}")
        return Span(max(1, line - AROUND_LINES), 1, line + AROUND_LINES)

    def _get(self, selection: Stretch | Tail, total: str = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        return self.call.read(self.target, selection, total)

    def outline(self) -> Outline:
        if self._outline is None:
            from eyespan.outline import outline

            part, _ = self._get(Stretch(1, 1, None, OUTLINE_BYTES))
            name = self.target.member or self.target.path
            self._outline = outline(bytes(part.data), name, pulse=self.call.pulse)
        return self._outline

    # --- what is there ---------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Reads what is wanted, as far as the budget could ever show it.

        Raises: ReadError.
        """
        if self.tail is not None:
            part = self._read(Tail(self.tail, max_bytes=self.call.max_chars))
            total = part.total_lines or 0
            self.wanted = [Span(max(1, total - self.tail + 1), 1, total)]
            self._all = not part.cut_short and part.first_line <= self.wanted[0].first
            if not total:
                self._nothing(1, 0)
        else:
            self.wanted = merged([Span(1)] if self.whole else self.wanted)
            left = self.call.max_chars
            for span in self.wanted:
                if left <= 0:
                    self._all = False
                    break
                most = left if span.max_chars is None else min(left, span.max_chars)
                part = self._read(Stretch(span.first, span.column, span.last, most))
                left -= len(part.data)
                if not part.line_count:
                    self._nothing(span.first, part.total_lines or 0)
                if part.cut_short and span.max_chars is None:
                    self._all = False
                    break
        self._texts = self._shown_texts()

    def _read(self, selection: Stretch | Tail) -> TextPart:
        part, document = self._get(selection)
        self._rows += rows_of(part)
        self._total = part.total_lines if part.total_lines is not None else self._total
        now, then = document.facts, self._facts
        # The size of something compressed may be a guess that only got better.
        moved = now.mtime_ns != then.mtime_ns or (then.exact and now.exact and now.size_bytes != then.size_bytes)
        self._changed = self._changed or now.changed or moved
        if "line_chars" in document.extra:
            self._notes.append(f"line {part.first_line} has {_count(document.extra['line_chars'], 'character')}")
        self._extra = {**self._extra, **document.extra}
        return part

    def _nothing(self, line: int, total: int) -> None:
        """A window without lines: an empty file and a line past the end never look alike."""
        if total:
            self._notes.append(f"no line {line}: the file has {_count(total, 'line')}")
        else:
            self._notes.append("the file is empty" if not self._facts.size_bytes else "the file holds no text")

    def _shown_texts(self) -> list[str]:
        if not self.call.dialect.redact:
            return [row.text for row in self._rows]
        return self._redacted()

    # --- how it is shown -------------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return _visible(self.base)

    @property
    def selector(self) -> str:
        if self.whole:
            return self.base
        if self.symbol:
            return f"{self.base}::{self.symbol}"
        if self.tail is not None:
            return f"{self.base}:-{self.tail}"
        return self._selector(self.wanted)

    def _selector(self, spans: Sequence[Span]) -> str:
        return f"{self.base}:{','.join([write_range(span.range()) for span in spans])}"

    def need(self) -> int:
        return self.text_need()

    def text_need(self) -> int:
        """What the text costs, whatever else belongs to the part."""
        if not self._all:
            return self.call.args.budget + 1
        if self._full is None:
            self._full = self._drawn(None)
            self._full_tokens = tokens.estimate("\n".join(self._full.lines)) + 1
        return self._full_tokens

    def show(self, allotted: int) -> Shown:
        drawn = self._full if self.text_need() <= allotted else None
        if drawn is None:
            drawn = self._drawn(allotted)
        text = "\n".join(drawn.lines)
        rows = drawn.rows
        following = self._selector(drawn.left) if drawn.left else None
        facts: dict[str, Any] = {
            "path": self._facts.path,
            "selector": self._selector([Span(*one) for one in _stretches(rows)]) if rows else self.selector,
            "hash": drawn.value,
            "total_lines": self._total,
            "tokens": tokens.estimate(text),
            "next": following,
        }
        if self._changed:
            facts["changed_during_read"] = True
        if drawn.unchanged:
            facts["unchanged"] = True
        elif rows:
            self.call.dialect.versions.keep(self.key[0], drawn.value, [(row.number, row.text) for row in rows])
        return Shown(text, facts, () if following is None else (following,))

    def _drawn(self, allotted: int | None) -> Drawn:
        """As much as is allotted, or all of it. What the caller holds is told and not repeated."""
        held = self._held()
        rows, texts = self._rows[held:], self._texts[held:]
        lines: list[str] = []
        value = ""
        if held:
            value = self._hash(self._rows[:held], self._texts[:held])
            lines.append(f"{self._head(self._rows[:held], value)} unchanged")
        if not rows:
            if not held:
                lines.append(f"{self._name}: {self._beside(rows).removeprefix(NOTE)}")
            return Drawn(lines, self._rows, value, [], held > 0)
        left: list[Span] = []
        outline = ""
        if allotted is not None:
            frame = [*lines, self._head(rows, "0" * 12), self._beside(rows), self.selector]
            room = max(LEAST_TOKENS, allotted - tokens.estimate("\n".join(frame)) - LEFT_TOKENS)
            if self.whole and not held:
                outline = self._outlined(int(room * OUTLINE_SHARE))
                room = max(LEAST_TOKENS, room - tokens.estimate(outline) - LEFT_TOKENS * bool(outline))
            rows, texts, left = self._fitted(rows, texts, room)
        value = self._hash(rows, texts)
        lines.append(self._head(rows, value))
        lines += self.style.drawn(rows, texts)
        beside = self._beside(rows)
        if beside:
            lines.append(beside)
        if outline:
            lines += [f"outline of {self._name}:", outline]
        return Drawn(lines, rows, value, left)

    def _fitted(self, rows: Sequence[Row], texts: Sequence[str], room: int) -> tuple[list[Row], list[str], list[Span]]:
        """The rows that fit, what is shown for them, and what is left to read."""
        if not rows:
            return [], [], self._left(None) if not self._all else []
        lines = self.style.drawn(rows, texts)
        if self.tail is not None:
            count = fitting_end(lines, room, tokens.estimate) or 1
            at = len(rows) - count
            before = (
                [Span(self.wanted[0].first, 1, rows[at].number - 1)] if self.wanted[0].first < rows[at].number else []
            )
            rows, texts, lines = rows[at:], texts[at:], lines[at:]
            if count == 1:
                rows, texts = self._cut(rows[0], len(self._rows) - 1, lines[0], room)
            return list(rows), list(texts), [*before, *self._left(rows[-1])]
        count = fitting(lines, room, tokens.estimate)
        if not count:
            rows, texts = self._cut(rows[0], len(self._rows) - len(rows), lines[0], room)
            count = 1
        return list(rows[:count]), list(texts[:count]), self._left(rows[count - 1])

    def _cut(self, row: Row, at: int, line: str, room: int) -> tuple[list[Row], list[str]]:
        """As much of one line as fits, at least one character."""
        lead = len(line) - len(self._texts[at])
        end = max(1, tokens.fit(line, room) - lead)
        if self._marks is not None:
            end = redaction.up_to(row.text, self._marks[at], end)
        if end >= len(row.text):
            return [row], [self._texts[at]]
        shown = row.text[:end] if self._marks is None else redaction.redacted(row.text, self._marks[at], 0, end)
        return [Row(row.number, row.column, row.text[:end], False, True, False)], [shown]

    def _left(self, last: Row | None) -> list[Span]:
        """What is wanted behind this row."""
        line, column = (1, 1) if last is None else _behind(last)
        left: list[Span] = []
        for span in self.wanted:
            if span.max_chars is not None and last is not None and span.first <= last.number:
                continue
            end = self._total if span.last is None else span.last
            if end is not None and (end < line or (self._total is not None and line > self._total)):
                continue
            if (span.first, span.column) >= (line, column):
                left.append(span)
            else:
                left.append(Span(line, column, span.last))
        return left

    # --- what stands beside the text -------------------------------------------------------------------------------

    def _head(self, rows: Sequence[Row], value: str) -> str:
        name = f"{self._name}::{self.symbol} " if self.symbol else f"{self._name}:"
        if not rows:
            return self._name
        total = "?" if self._total is None else self._total
        return f"{name}{_extent(rows)}/{total} #{value}"

    def _beside(self, rows: Sequence[Row]) -> str:
        """What cannot be seen in the text and matters."""
        facts = self._facts
        said = list(self._notes)
        encoding, how = self._extra.get("encoding", "utf-8"), self._extra.get("encoding_found", "")
        if encoding != "utf-8":
            said.append(f"{encoding} by {'byte order mark' if how == 'bom' else how}" + self._sureness())
        elif self._extra.get("bom"):
            said.append("byte order mark")
        ended = [row for row in rows if row.closed]
        said.append(
            fidelity.line_ends_in_words(
                [row.number for row in ended if row.carriage], [row.number for row in ended if not row.carriage]
            )
        )
        last = rows[-1] if rows else None
        if last is not None and not last.open and not last.closed:
            said.append("no newline at the end")
        said.append(fidelity.indentation_in_words([(row.number, row.text) for row in rows if row.column == 1]))
        said.append(fidelity.hidden_in_words(fidelity.hidden([(row.number, row.column, row.text) for row in rows])))
        if self._extra.get("replaced"):
            lost = [row.number for row in rows if "\ufffd" in row.text]
            if lost:
                said.append(f"bytes that are no {encoding} shown as U+FFFD on {fidelity.spans(lost)}")
        if facts.hard_links > 1:
            said.append(f"{facts.hard_links} hard links")
        if self._changed:
            said.append("changed while it was read, read it again")
        said += self._changes(rows)
        said = [word for word in said if word]
        return f"{NOTE}{'; '.join(said)}" if said else ""

    def _sureness(self) -> str:
        confidence = self._extra.get("encoding_confidence")
        return "" if confidence is None else f", {confidence:.0%} sure"

    # --- what the caller holds -------------------------------------------------------------------------------------

    def _hash(self, rows: Sequence[Row], texts: Sequence[str]) -> str:
        digest = Digest(self.key[0])
        following = 0
        for row, text in zip(rows, texts, strict=True):
            if row.number != following:
                digest.start(row.number, row.column)
            digest.add(text)
            following = row.number + 1
        return digest.value()

    def _held(self) -> int:
        """How many of the first rows the caller holds already, as they are now."""
        known = self.call.args.known
        if self._held_rows < 0:
            self._held_rows = 0
            digest = Digest(self.key[0])
            following = 0
            for at, (row, text) in enumerate(zip(self._rows, self._texts, strict=True) if known else ()):
                if row.number != following:
                    digest.start(row.number, row.column)
                digest.add(text)
                following = row.number + 1
                if digest.value() in known:
                    self._held_rows, self._held_value = at + 1, digest.value()
        return self._held_rows

    def _changes(self, rows: Sequence[Row]) -> list[str]:
        """Which lines are not as the caller holds them, where the old version is remembered."""
        lines = [(row.number, row.text) for row in rows]
        said = []
        for value in sorted(self.call.args.known - {self._held_value}):
            changes = self.call.dialect.versions.changes(self.key[0], value, lines)
            if changes is not None:
                said.append(f"changed since #{value}: {changes}")
        return said

    # --- structure -------------------------------------------------------------------------------------------------

    def _outlined(self, room: int) -> str:
        """The outline of a file too large to show, or "" if it has none."""
        from eyespan.outline import render

        outline = self.outline()
        return render(outline, room) if len(outline.symbols) > 1 else ""

    # --- secrets ---------------------------------------------------------------------------------------------------

    def _redacted(self) -> list[str]:
        """The texts with marks for their secrets; also for those that begin before, or end behind, what was read."""
        lines = [row.text for row in self._rows]
        first = self._rows[0] if self._rows else None
        before = ""
        if first is not None and first.column > 1:
            start = max(1, first.column - redaction.MAX_SECRET_CHARS)
            part, _ = self._get(Stretch(first.number, start, first.number, first.column - start))
            before = part.data.decode("utf-8", "replace")
            lines[0] = before + lines[0]
        self._marks = redaction.secrets(lines)
        if before:
            shift = len(before)
            self._marks[0] = [(max(0, a - shift), b - shift, what) for a, b, what in self._marks[0] if b > shift]
        last = self._rows[-1] if self._rows else None
        if last is not None and last.open and len(last.text) > redaction.MAX_SECRET_CHARS:
            # A secret may go on behind what was read: the last of it waits for the next call.
            self._rows[-1] = Row(last.number, last.column, last.text[: -redaction.MAX_SECRET_CHARS], False, True, False)
        return [redaction.redacted(row.text, marks) for row, marks in zip(self._rows, self._marks, strict=True)]


class NoSuchPart(errors.ReadError):
    """This kind of file has no pages, cells, sheets or whatever else was asked for."""

    code = "no_such_part"

    def __init__(self, path: str, piece: Piece | None, kind: str) -> None:
        what = {Pages: "pages", Cells: "cells", Area: "sheets", Symbol: "symbols", Ranges: "lines"}
        super().__init__(
            path, f"{KINDS.get(kind, f'a file of kind {kind}')} has no {what.get(type(piece), 'such part')}"
        )


class NoSymbol(errors.ReadError):
    """The file has no symbol of this name."""

    code = "no_symbol"

    def __init__(self, path: str, name: str, near: Sequence[str]) -> None:
        super().__init__(path, f"no symbol {name}")
        self.near = near


class OutlineOnly(Part):
    """The symbols of a file instead of its text."""

    def __init__(self, file: TextFile) -> None:
        self._file = file

    @property
    def selector(self) -> str:
        return self._file.base

    def need(self) -> int:
        return tokens.estimate(self._text(None)) + 1

    def _text(self, room: int | None) -> str:
        from eyespan.outline import render

        outline = self._file.outline()
        name = _visible(self.selector)
        listed = render(outline, room)
        if not listed:
            return f"{name}: no symbols found" + ("" if outline.language else ", its language is not known")
        said = f"outline of {name}, by {outline.how}"
        if not outline.complete:
            said += ", perhaps not complete"
        if outline.hint:
            said += f" ({outline.hint})"
        return f"{said}\n{listed}"

    def show(self, allotted: int) -> Shown:
        text = self._text(None)
        if tokens.estimate(text) >= allotted:
            frame = tokens.estimate(text.partition("\n")[0])
            text = self._text(max(LEAST_TOKENS, allotted - frame - 1))
        how = self._file.outline().how
        facts = {"path": self.selector, "outline": how, "tokens": tokens.estimate(text), "next": None}
        return Shown(text, facts)


class Folder(Part):
    """The names in a folder, one a line; ranges of them as of the lines of a file."""

    def __init__(self, call: Call, target: Target, listing: Listing) -> None:
        self._target = target
        self._listing = listing
        names = [_visible(entry.name) + FOLDER_MARKS[entry.what] for entry in listing.entries]
        first, last = 1, len(names)
        match target.piece:
            case None:
                pass
            case Ranges((Lines(start, count),)):
                first, last = start, last if count is None else min(last, start + count - 1)
            case _:
                raise errors.NotRegular(target.path, what="directory")
        self._first = first
        self._names = names[first - 1 : last]

    @property
    def selector(self) -> str:
        return write_target(self._target)

    def need(self) -> int:
        return tokens.estimate("\n".join([self._head(len(self._names)), *self._names])) + 1

    def _head(self, count: int) -> str:
        total = len(self._listing.entries)
        said = f"{_visible(self._target.path.rstrip('/') or '/')}: folder, {_count(total, 'name')}"
        if self._listing.partial:
            said += " seen of more"
        return said if count == total else f"{said}, {self._first}-{self._first + count - 1} shown"

    def show(self, allotted: int) -> Shown:
        room = max(LEAST_TOKENS, allotted - tokens.estimate(self._head(-1) + self.selector) - LEFT_TOKENS)
        count = len(self._names)
        if self.need() > allotted:
            count = fitting(self._names, room, tokens.estimate) or 1
        text = "\n".join([self._head(count), *self._names[:count]])
        left = []
        if count < len(self._names):
            following = Ranges((Lines(self._first + count, len(self._names) - count),))
            left = [write_target(Target(self._target.path, following))]
        facts: dict[str, Any] = {
            "path": self._target.path,
            "kind": "folder",
            "names": len(self._listing.entries),
            "tokens": tokens.estimate(text),
            "next": left[0] if left else None,
        }
        return Shown(text, facts, tuple(left))


# --- pieces of text ------------------------------------------------------------------------------------------------


def rows_of(part: TextPart) -> list[Row]:
    """The lines of a piece of text, terminators taken off and remembered."""
    if not part.line_count:
        return []
    lines = part.data.decode("utf-8", "replace").split("\n")
    last = lines.pop()
    rows = []
    number, column = part.first_line, part.column
    for line in lines:
        carriage = line.endswith("\r")
        rows.append(Row(number, column, line[:-1] if carriage else line, carriage))
        number, column = number + 1, 1
    if last or not lines:
        rows.append(Row(number, column, last, False, part.cut_short, False))
    return rows


def merged(spans: Sequence[Span]) -> list[Span]:
    """The same text in file order, each piece of it once: what overlaps or touches is one span."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.first, span.column)):
        before = found[-1] if found else None
        if (
            before is None
            or before.max_chars is not None
            or (before.last is not None and not _touches(before.last, span))
        ):
            found.append(span)
        elif before.last is not None and (span.last is None or span.last > before.last):
            found[-1] = Span(before.first, before.column, span.last)
    return found


def _touches(last: int, span: Span) -> bool:
    return span.first <= last or (span.first == last + 1 and span.column == 1 and span.max_chars is None)


def _behind(row: Row) -> tuple[int, int]:
    """The line and character that come after a row."""
    return (row.number, row.column + len(row.text)) if row.open else (row.number + 1, 1)


def _stretches(rows: Sequence[Row]) -> list[tuple[int, int, int]]:
    """First line, its first character, and last line of each run of consecutive rows."""
    found: list[list[int]] = []
    for row in rows:
        if found and found[-1][2] == row.number - 1:
            found[-1][2] = row.number
        else:
            found.append([row.number, row.column, row.number])
    return [(first, column, last) for first, column, last in found]


def _extent(rows: Sequence[Row]) -> str:
    """The lines that are shown, with the character where one is shown in part: `1-12`, `1:2001-1:4000`, `1-5,9`."""
    said = []
    for first, column, last in _stretches(rows):
        start = f"{first}:{column}" if column > 1 else f"{first}"
        end = f"{last}"
        if rows[-1].number == last and rows[-1].open:
            end += f":{rows[-1].column + len(rows[-1].text) - 1}"
        said.append(start if start == end else f"{start}-{end}")
    return ",".join(said)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _visible(name: str) -> str:
    """A name that cannot be taken for several lines."""
    if name.isprintable():
        return name
    return "".join([c if c.isprintable() or c == "\xa0" else f"\\x{ord(c):02x}" if ord(c) < 256 else c for c in name])


def _spelled(asked: str, real: str) -> str:
    """Which characters of the real name are not as asked."""
    odd = [f"U+{ord(c):04X}" for c in dict.fromkeys(real) if not c.isascii() and c not in asked]
    return f"{_visible(real)}{' with ' + ', '.join(odd[:4]) if odd else ''}"


def _options(piece: Piece | None) -> dict[str, Any]:
    """What of a piece the readers of documents understand."""
    match piece:
        case Area(sheet, cells):
            return {"sheet": sheet or None, "range": cells}
        case Named(name):
            return {"sheet": name, "table": name}
    return {}
