from collections.abc import Mapping

REVISION: int

def count(data: bytes | bytearray | memoryview, start: int = 0, end: int | None = None) -> int: ...
def nth(data: bytes | bytearray | memoryview, n: int, start: int = 0) -> int: ...
def scan(fd: int, offset: int, end: int, stride: int = 65536) -> tuple[bytes, int]: ...
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
) -> str: ...
def open_beneath(
    folder: int, path: bytes, follow: bool, types: bytes, /
) -> tuple[int, int, int, int, bytes | None]: ...
def quote(text: str, /) -> bytes | None: ...
