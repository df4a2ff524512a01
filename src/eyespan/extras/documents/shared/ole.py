"""The container of Office files from before 2007 and of Outlook messages, read by olefile.

A container is a small file system. The library trusts numbers in the file, so every error that it raises counts as
damage of the file.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

from eyespan.decoders.files import read_whole, unreadable
from eyespan.errors import Missing, Unreadable
from eyespan.extras.documents.shared.ooxml import ENCRYPTED, OLE, is_encrypted_ole

try:
    import olefile
except ImportError:  # reported by `Container`
    olefile = None


MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_STREAM_BYTES = 64 * 1024 * 1024


class Container:
    """The streams of one file."""

    def __init__(self, data: bytes) -> None:
        """Read the directory. Raises: Missing, Unreadable."""
        if olefile is None:
            raise Missing("", what="reading Office files from before 2007", install="pip install 'eyespan[docs]'")
        if not data.startswith(OLE):
            raise unreadable("not such a file, despite its name")
        if is_encrypted_ole(data):
            raise unreadable(ENCRYPTED)
        try:
            self._file: Any = olefile.OleFileIO(io.BytesIO(data), raise_defects=olefile.DEFECT_FATAL)
            self._paths = {"/".join(path).lower(): path for path in self._file.listdir(streams=True, storages=False)}
        except MemoryError:
            raise
        except Exception:  # of any class
            raise unreadable("it is corrupt") from None

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._paths

    def names(self) -> list[str]:
        """Return the paths of all streams, in lower case."""
        return list(self._paths)

    def read(self, name: str) -> bytes:
        """Return a stream. Raises: Unreadable, if it is missing or corrupt."""
        path = self._paths.get(name.lower())
        if path is None:
            raise unreadable(f"its part {name} is missing")
        try:
            if self._file.get_size(path) > MAX_STREAM_BYTES:
                raise unreadable(f"its part {name} has more than {MAX_STREAM_BYTES} bytes")
            data: bytes = self._file.openstream(path).read()
        except (MemoryError, Unreadable):
            raise
        except Exception:  # as above
            raise unreadable(f"its part {name} is corrupt") from None
        return data


def read_file(file: BinaryIO) -> bytes:
    """Return the bytes of a file. Raises: Unreadable, if there are too many."""
    return read_whole(file, MAX_FILE_BYTES)
