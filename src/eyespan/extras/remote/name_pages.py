"""Pages of listings, as S3, Google and Azure send them.

A store is not trusted: a page has a limit of bytes and of elements, declares no entities, and is parsed by expat.
Keys that no path can name are counted and left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote
from xml.parsers import expat

from eyespan.extras.remote.store import ObjectVersion, make_version, modified_ns, number

MAX_PAGE_BYTES = 8 << 20
MAX_PAGE_ELEMENTS = 200_000
_OBJECTS = {"Contents": "Key", "Blob": "Name"}
_DIRECTORIES = {"CommonPrefixes": "Prefix", "BlobPrefix": "Name"}
_ROWS = {**_OBJECTS, **_DIRECTORIES}
"""The elements of the rows, and that of the key in each."""
_TOKENS = ("NextContinuationToken", "NextMarker")


@dataclass(slots=True)
class NamePage:
    """The names of one answer, in its order."""

    directories: list[str] = field(default_factory=list)
    objects: list[tuple[str, ObjectVersion]] = field(default_factory=list)
    token: str = ""
    """What asks for the next page; "" on the last one."""
    left_out: int = 0
    """The number of keys that no path can name."""


def parse_page(data: bytes) -> NamePage:
    """Return the names of a page. Raises: ValueError for one that is invalid or too large."""
    if len(data) > MAX_PAGE_BYTES or data.count(b"&#") > MAX_PAGE_ELEMENTS:
        raise ValueError("too large")
    reader = _PageReader()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.texts.append
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        parser.Parse(_without_controls(data), True)
    except expat.ExpatError:
        raise ValueError("not XML") from None
    return reader.page


class _PageReader:
    def __init__(self) -> None:
        self.page = NamePage()
        self.texts: list[str] = []
        """The text since the last element began or ended."""
        self._row: dict[str, str] | None = None
        self._is_encoded = False
        self._count = 0

    def refuse(self, *_: object) -> None:
        raise ValueError("declarations")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_PAGE_ELEMENTS:
            raise ValueError("too many elements")
        self.texts.clear()
        self._is_encoded = attributes.get("Encoded") == "true"
        if name in _ROWS:
            self._row = {}

    def end(self, name: str) -> None:
        text = "".join(self.texts)
        self.texts.clear()
        if self._is_encoded:
            text = unquote(text)
            self._is_encoded = False
        if name in _ROWS and self._row is not None:
            self._add(name, self._row)
            self._row = None
        elif self._row is not None:
            self._row.setdefault(name, text)
        elif name in _TOKENS:
            self.page.token = text

    def _add(self, element: str, row: dict[str, str]) -> None:
        key = row.get(_ROWS[element], "")
        if is_odd(key):
            self.page.left_out += 1
        elif element in _DIRECTORIES:
            self.page.directories.append(key)
        else:
            self.page.objects.append((key, _version(row)))


def _version(row: dict[str, str]) -> ObjectVersion:
    """Return the version that a row describes: the one of the object's own answer. Raises: ValueError."""
    size = row.get("Size") or row.get("Content-Length") or ""
    etag = row.get("ETag") or row.get("Etag") or ""
    if etag and not etag.endswith('"'):
        etag = f'"{etag}"'  # Azure sends it without quotes here
    return make_version(number(size), etag, modified_ns(row.get("LastModified") or row.get("Last-Modified") or ""))


_NOT_XML = re.compile("&#(x?)([0-9a-fA-F]{1,8});|[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\ud800-\\udfff\\ufffe\\uffff]")
"""References by number, and characters that XML does not have. Stores send both in keys."""


def _without_controls(data: bytes) -> bytes:
    """Return a page with DEL, which XML has and no path, for every character that XML does not have."""

    def replaced(found: re.Match[str]) -> str:
        try:
            char = chr(int(found[2], 16 if found[1] else 10)) if found[2] else "\0"
        except (ValueError, OverflowError):
            return "\x7f"
        return "\x7f" if _NOT_XML.match(char) else found[0]

    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return _NOT_XML.sub(replaced, text).encode()


def is_odd(key: str) -> bool:
    """Return True for a key that no path can name: with control characters, or an empty name, `.` or `..` in it."""
    names = key.removesuffix("/").split("/")
    return any(char < " " or char == "\x7f" for char in key) or any(name in ("", ".", "..") for name in names)
