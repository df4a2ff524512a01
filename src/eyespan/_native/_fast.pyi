from collections.abc import Mapping

REVISION: int

class Opened:
    """A file or directory found beneath a directory; fast.c describes the fields."""

    fd: int
    readable: bool
    pseudo: bool
    type: int
    name: bytes | None
    head: bytes | None
    st_mode: int
    st_ino: int
    st_dev: int
    st_nlink: int
    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int

def count(data: bytes | bytearray | memoryview, start: int = 0, end: int | None = None) -> int: ...
def nth(data: bytes | bytearray | memoryview, n: int, start: int = 0) -> int: ...
def number(
    data: bytes | bytearray | memoryview,
    first: int,
    lead: str = "",
    width: int = 0,
    mark: str = "\t",
    keep_ends: bool = False,
    max_chars: int = 0,
    max_bytes: int = 0,
    totals: Mapping[int, int] = ...,
) -> tuple[str, int]: ...
def open_beneath(
    directory: int, path: str | bytes, follow: bool, types: bytes, stay: bool, most: int, device: int, /
) -> Opened: ...
def weigh_words(text: str, weights: bytes, /) -> int: ...
