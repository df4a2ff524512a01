"""One file to records. Nothing that a file contains raises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eyespan import kinds
from eyespan.context import CallContext
from eyespan.errors import ReadError, TooLarge
from eyespan.extras.bulk.record import Record
from eyespan.extras.bulk.windows import selector_of, windows
from eyespan.kinds import Kind
from eyespan.model import ImagePart, NotePart, Part, ReadRequest, TextPart
from eyespan.opened import Opened
from eyespan.tokens import estimate

if TYPE_CHECKING:
    from eyespan.extras.bulk.chunks import Chunk
    from eyespan.workspace import Workspace


MAX_BYTES = 64 << 20
"""The text and images that are taken of one file unless the caller gives another limit."""
RECORDS_VERSION = 2
"""Changes when the same file gives other records, so that an export by an earlier release is not kept."""
_MEMORY = "not enough memory"


@dataclass(frozen=True, slots=True)
class Options:
    """What is read of each file, and in which pieces."""

    max_bytes: int = MAX_BYTES
    """The text and images that are taken of one file."""
    chunk_tokens: int = 0
    """The limit of a chunk; 0: parts as the file has them."""

    @property
    def suffix(self) -> str:
        """Return what a version ends with, because chunks of another size are other parts."""
        return f"-chunks-{self.chunk_tokens}" if self.chunk_tokens else ""


def read_file(workspace: Workspace, path: str, options: Options) -> list[Record]:
    """Return the records of one file: its parts, and one with an error if something could not be read."""
    records: list[Record] = []
    version = kind = ""
    context = CallContext(workspace.deadline_seconds)
    try:
        max_bytes = options.max_bytes
        request = ReadRequest(path, documents=frozenset({"native"}), encoding="auto", reports_encoding=True)
        with workspace.engine.open(request, context) as opened:
            kind, version = opened.kind.name, _version(opened) + options.suffix
            if options.chunk_tokens and (chunks := _chunks(opened, path, options)) is not None:
                for chunk in chunks:
                    records.append(_chunk_record(path, chunk, len(records), kind, version))
                return _with_facts(records, opened, path, kind, version)
            taken_bytes = 0
            for found in _records(opened, path):
                taken_bytes += len(found.text.encode("utf-8", "surrogatepass")) + len(found.data)
                if taken_bytes > max_bytes:
                    raise TooLarge(path, size_bytes=opened.facts.size_bytes, limit_bytes=max_bytes)
                records.append(replace(found, part=len(records), kind=kind, version=version))
            return _with_facts(records, opened, path, kind, version)
    except ReadError as error:
        records.append(failure(path, error, part=len(records), kind=kind, version=version))
    except MemoryError:
        records = [Record(path, version=version, kind=kind, selector=path, error_code="memory", error_message=_MEMORY)]
    return records


def _chunks(opened: Opened, path: str, options: Options) -> Iterator[Chunk] | None:
    from eyespan.extras.bulk.chunks import chunks_of

    return chunks_of(opened, path, options.chunk_tokens, options.max_bytes)


def _chunk_record(path: str, chunk: Chunk, number: int, kind: str, version: str) -> Record:
    return Record(
        path,
        version=version,
        part=number,
        kind=kind,
        selector=chunk.selector,
        text=chunk.text,
        tokens=estimate(chunk.text),
        facts={name: text for name, text in (("symbol", chunk.symbol), ("left_out", chunk.left_out)) if text},
    )


def _with_facts(records: list[Record], opened: Opened, path: str, kind: str, version: str) -> list[Record]:
    """Return the records of a file, at least one, the first with the facts of the file."""
    if not records:
        records.append(Record(path, version=version, kind=kind, selector=path))
    records[0] = replace(records[0], facts={**_facts(opened), **records[0].facts})
    return records


def failure(path: str, error: ReadError, *, part: int = 0, kind: str = "", version: str = "") -> Record:
    """Return the record of a file, or the rest of one, that could not be read."""
    return Record(
        path, version=version, part=part, kind=kind, selector=path, error_code=error.code, error_message=str(error)
    )


def version_of(workspace: Workspace, path: str, options: Options) -> str:
    """Return the version of a file without reading it; "" if it cannot be opened."""
    try:
        with workspace.engine.open(ReadRequest(path), CallContext(workspace.deadline_seconds)) as opened:
            return _version(opened) + options.suffix
    except ReadError:
        return ""


def _version(opened: Opened) -> str:
    source, status = opened.source, opened.source.status
    if source.is_version:
        numbers = [number for number in source.identity if isinstance(number, int)]
    else:
        numbers = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    return "-".join([f"{number:x}" for number in (RECORDS_VERSION, *numbers)])


def _facts(opened: Opened) -> Mapping[str, Any]:
    facts = opened.facts
    return {"size_bytes": facts.size_bytes, "mtime_ns": facts.mtime_ns}


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
