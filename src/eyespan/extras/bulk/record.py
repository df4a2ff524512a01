"""The form of every result of bulk reading."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA_VERSION = 1
SCHEMA = {
    "source": "string",
    "version": "string",
    "part": "int32",
    "kind": "string",
    "selector": "string",
    "text": "string",
    "data": "binary",
    "media_type": "string",
    "tokens": "int32",
    "facts": "string",
    "error_code": "string",
    "error_message": "string",
}
"""The columns of an exported table and their types; `facts` is JSON."""


@dataclass(frozen=True, slots=True)
class Record:
    """One part of one version of a file, or the reason why there is none. (source, version, part) is unique.

    A file that cannot be read, or only in part, has one record with an error, after those of the parts before it.
    """

    source: str
    """The path that reads the file again, in the same workspace."""
    version: str = ""
    """A text that changes with the contents: size and time of a local file, the ETag of an object."""
    part: int = 0
    """The number of this part, from 0."""
    kind: str = ""
    selector: str = ""
    """A selector that reads this part again; the path alone where parts cannot be selected."""
    text: str = ""
    data: bytes = b""
    """The bytes of an image."""
    media_type: str = ""
    tokens: int = 0
    """An estimate for `text`."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    error_code: str = ""
    error_message: str = ""

    @property
    def is_error(self) -> bool:
        return bool(self.error_code)

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON values; `data` is base64."""
        row = {name: getattr(self, name) for name in SCHEMA}
        row["data"] = b64encode(self.data).decode("ascii")
        row["facts"] = dict(self.facts)
        return row
