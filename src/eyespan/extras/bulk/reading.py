"""One file to records. Nothing that a file contains raises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eyespan import kinds
from eyespan.context import CallContext
from eyespan.errors import ReadError, TooLarge
from eyespan.escape import plural, valid_text, valid_tree, written_path
from eyespan.extras.bulk.record import Record
from eyespan.extras.bulk.windows import selector_of, windows
from eyespan.guard.tree import Identity
from eyespan.kinds import Kind
from eyespan.model import ArchiveOptions, DocumentOptions, ImagePart, Lines, NotePart, Part, ReadRequest, TextPart
from eyespan.opened import Opened
from eyespan.sources.members import FILE, HARD_LINK, MAX_DEPTH, MAX_MEMBERS
from eyespan.tokens import estimate

if TYPE_CHECKING:
    from eyespan.extras.bulk.chunks import Chunk
    from eyespan.workspace import Workspace


MAX_BYTES = 64 << 20
"""The text and images that are taken of one file unless the caller gives another limit."""
RECORDS_VERSION = 3
"""Changes when the same file gives other records, so that an export by an earlier release is not kept."""
_MEMORY = "not enough memory"


@dataclass(frozen=True, slots=True)
class Options:
    """What is read of each file, and in which pieces."""

    max_bytes: int = MAX_BYTES
    """The text and images that are taken of one file."""
    chunk_tokens: int = 0
    """The limit of a chunk; 0: parts as the file has them."""
    document: bool = False
    """Web pages and mailboxes are read as documents, not as their source."""

    @property
    def suffix(self) -> str:
        """Return what a version ends with, because chunks of another size are other parts."""
        return f"{'-document' * self.document}{f'-chunks-{self.chunk_tokens}' if self.chunk_tokens else ''}"

    @property
    def surfaces(self) -> frozenset[str]:
        """Return the kinds that are read as documents."""
        return frozenset({"native", kinds.SOURCES} if self.document else {"native"})


def read_file(workspace: Workspace, path: str, options: Options) -> list[Record]:
    """Return the records of one file: its parts, those of its members if it is an archive, and an error for each of
    them that could not be read.
    """
    found = _FileRecords(workspace, path, options)
    found.add("", 0)
    return [valid_record(record) for record in found.records]


class _FileRecords:
    """The records of one file while it is read."""

    def __init__(self, workspace: Workspace, path: str, options: Options) -> None:
        self.records: list[Record] = []
        self._workspace, self._path, self._options = workspace, path, options
        self._left_bytes = options.max_bytes
        self._version = ""

    def add(self, member: str, depth: int) -> None:
        """Add the records of the file, or of a member of it, then those of the members that are nested in it."""
        name, first, kind = f"{self._path}!/{member}" if member else self._path, len(self.records), ""
        members: list[str] = []
        request = ReadRequest(
            self._path,
            member=member,
            documents=self._options.surfaces,
            options=DocumentOptions(archive=ArchiveOptions(MAX_MEMBERS)),
            encoding="auto",
            reports_encoding=True,
        )
        try:
            with self._workspace.engine.open(request, CallContext(self._workspace.deadline_seconds)) as opened:
                kind = opened.kind.name
                self._version = self._version or _version(opened) + self._options.suffix
                for record in self._parts_of(opened, name):
                    self._left_bytes -= len(record.text.encode("utf-8", "surrogatepass")) + len(record.data)
                    if self._left_bytes < 0:
                        raise self._too_large(opened.facts.size_bytes)
                    self._append(record, kind)
                if len(self.records) == first:
                    self._append(Record(self._path, selector=name), kind)
                self.records[first] = replace(
                    self.records[first], facts={**_facts(opened), **self.records[first].facts}
                )
                if opened.kind.name == "archive":
                    members = self._members(opened, first, depth)
        except ReadError as error:
            self._append(failure(self._path, error, selector=name), kind)
        except MemoryError:
            del self.records[first:]
            self._append(Record(self._path, selector=name, error_code="memory", error_message=_MEMORY), kind)
        for number, one in enumerate(members):
            if self._left_bytes < 0:
                rest = failure(self._path, self._too_large(0), selector=name)
                message = f"{plural(len(members) - number, 'member')} of {name} not read: {rest.error_message}"
                self._append(replace(rest, error_message=message), kind)
                return
            self.add(f"{member}!/{one}" if member else one, depth + 1)

    def _append(self, record: Record, kind: str) -> None:
        number = len(self.records)
        self.records.append(replace(record, source=self._path, part=number, kind=kind, version=self._version))

    def _too_large(self, size_bytes: int) -> TooLarge:
        return TooLarge(self._path, size_bytes=size_bytes, limit_bytes=self._options.max_bytes)

    def _parts_of(self, opened: Opened, name: str) -> Iterator[Record]:
        """Yield the records of an opened file: chunks, or parts as the file has them. Raises: ReadError."""
        from eyespan.extras.bulk.chunks import chunks_of

        tokens = self._options.chunk_tokens
        chunks = chunks_of(opened, name, tokens, max(1, self._left_bytes)) if tokens else None
        return _records(opened, name) if chunks is None else (_chunk_record(self._path, chunk) for chunk in chunks)

    def _members(self, opened: Opened, first: int, depth: int) -> list[str]:
        """Return the names of the files in an archive; none of an archive nested so deep that they cannot be opened."""
        facts = opened.read().extra
        names = [member["name"] for member in facts["members"] if member["what"] in (FILE, HARD_LINK)]
        if depth < MAX_DEPTH:
            return names
        left_out = f"the contents of {plural(len(names), 'member')}"
        record = self.records[first]
        self.records[first] = replace(record, facts={**record.facts, "left_out": left_out})
        return []


def valid_record(record: Record) -> Record:
    """Return a record of valid text. A name that is not UTF-8 is escaped such that it leads back to its file."""
    return replace(
        record,
        source=written_path(record.source),
        selector=written_path(record.selector),
        text=valid_text(record.text),
        facts=valid_tree(record.facts),
        error_message=valid_text(record.error_message),
    )


def _chunk_record(path: str, chunk: Chunk) -> Record:
    return Record(
        path,
        selector=chunk.selector,
        text=chunk.text,
        tokens=estimate(chunk.text),
        facts={name: text for name, text in (("symbol", chunk.symbol), ("left_out", chunk.left_out)) if text},
    )


def failure(path: str, error: ReadError, *, selector: str = "") -> Record:
    """Return the record of a file, or the rest of one, that could not be read."""
    return Record(path, selector=selector or path, error_code=error.code, error_message=str(error))


def version_of(workspace: Workspace, path: str, options: Options, identity: Identity | None) -> str:
    """Return the version of a file without reading it; "" if it cannot be opened. A listing may have its identity."""
    if identity is not None:
        return _numbered(identity) + options.suffix
    try:
        with workspace.engine.open(ReadRequest(path), CallContext(workspace.deadline_seconds)) as opened:
            return _version(opened) + options.suffix
    except ReadError:
        return ""


def _version(opened: Opened) -> str:
    source, status = opened.source, opened.source.status
    if source.is_version:
        return _numbered([number for number in source.identity if isinstance(number, int)])
    return _numbered([status.st_size, status.st_mtime_ns, status.st_ctime_ns])


def _numbered(numbers: Iterable[int]) -> str:
    return "-".join([f"{number:x}" for number in (RECORDS_VERSION, *numbers)])


def _facts(opened: Opened) -> Mapping[str, Any]:
    """Return size and time of a file, and the encoding of a text, with the share of such guesses that is right."""
    facts: dict[str, Any] = {"size_bytes": opened.facts.size_bytes, "mtime_ns": opened.facts.mtime_ns}
    if is_read_by_lines(opened.kind):
        found = opened.read(Lines(1, 1), as_text=True).extra
        facts |= {name: found[name] for name in ("encoding", "encoding_confidence") if name in found}
    return facts


def _records(opened: Opened, path: str) -> Iterator[Record]:
    """Yield the records of a file: lines of a text, parts of each window of a document. Raises: ReadError."""
    if is_read_by_lines(opened.kind):
        for part in opened.stream(as_text=True):
            yield _record(path, path, part)
        return
    for window in windows(opened):
        selector = selector_of(path, window.piece)
        for number, part in enumerate(window.document.parts):
            found = _record(path, selector, part)
            has_note = number == 0 and window.left_out
            yield replace(found, facts={"left_out": window.left_out}) if has_note else found


def is_read_by_lines(kind: Kind) -> bool:
    """Return True for plain text, and for a table that is text: its lines have all of it."""
    return kind is kinds.TEXT or (kind.is_text and kind.parts == "table")


def _record(path: str, selector: str, part: Part) -> Record:
    base = Record(path, selector=selector)
    match part:
        case TextPart():
            text = bytes(part.data).decode("utf-8", "replace")
            last = part.first_line + part.line_count - 1
            lines = f"{path}:{part.first_line}-{last}" if part.first_line and part.line_count else path
            return replace(base, selector=lines, text=text, tokens=estimate(text))
        case NotePart(text):
            return replace(base, text=text, tokens=estimate(text))
        case ImagePart(data, media_type):
            return replace(base, data=data, media_type=media_type)
        case _:
            return base
