"""Decompression forward from a place, a piece at a time: the bytes of a compressed file in order.

A stream asks the source below it for input as it goes and never gives more than it is asked for, so what it holds does
not depend on what the input would become: a piece of input, a piece of output and the codec's own window. zlib, bz2 and
lzma are the standard library's and run in this process: their input is untrusted, but they have been fuzzed for years
and what they are asked to do here is bounded in bytes, memory and time. Some streams can be marked: a mark is enough to
go on later from where it was made.
"""

from __future__ import annotations

import zlib

from eyespan.errors import shortage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from eyespan.source import Source

    class Codec(Protocol):
        """What bz2, lzma and zstd of the standard library have in common."""

        def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...
        @property
        def eof(self) -> bool: ...
        @property
        def needs_input(self) -> bool: ...
        @property
        def unused_data(self) -> bytes: ...


INPUT_BYTES = 16 * 1024
MAX_CODEC_BYTES = 72 << 20
"""What a codec may hold: enough for what `xz -9` makes, which is the most that people come across."""
MAX_WINDOW_BYTES = 32 << 20
"""The same for zstd; its default and `-19` need 8 MiB."""
ENDS_EARLY = "it ends too early"


class Broken(Exception):
    """The input is not what its format says; the text tells how, for a person."""


class NoCodec(Exception):
    """The part of eyespan that decodes this is not installed."""


class Stream:
    """One pass over compressed bytes."""

    name = ""
    check: Callable[[], None] | None = None
    """Called before more input is taken: input without end may give no output to stop at."""

    def read(self, most: int) -> bytes:
        """The next bytes, at most so many; b"" at the end.

        Raises: Broken, and what the source below raises.
        """
        raise NotImplementedError

    @property
    def used(self) -> int:
        """How much input lies behind the bytes given so far."""
        raise NotImplementedError

    def mark(self) -> Any | None:
        """What is needed to go on from here later; None where that cannot be done."""
        return None


Opener = "Callable[[Source, Any | None], Stream]"
"""Makes a stream over a source, from its start or from a mark."""


class Inflate(Stream):
    """Deflate: of zip members (`bits` -15), of git objects (15) and of gzip files (31), which may have several parts.

    Can be marked anywhere, for the 40 KB or so that zlib knows of the bytes before.
    """

    def __init__(self, below: Source, mark: tuple[int, Any] | None, bits: int, start: int = 0) -> None:
        self.name = "gzip" if bits > 15 else "deflate"
        self._below = below
        self._bits = bits
        self._at = start if mark is None else mark[0]
        self._state = zlib.decompressobj(bits) if mark is None else mark[1].copy()
        self._pending = b""

    def read(self, most: int) -> bytes:
        while True:
            if self._state.eof and not self._next_part():
                return b""
            try:
                data = self._state.decompress(self._pending, most)
            except zlib.error as error:
                raise Broken(_zlib_words(error)) from None
            self._pending = self._state.unused_data if self._state.eof else self._state.unconsumed_tail
            if data:
                return data
            if not self._state.eof:
                self._fill()
                if not self._pending:
                    raise Broken(ENDS_EARLY)

    def _fill(self) -> None:
        if self.check is not None:
            self.check()
        more = self._below.read_at(self._at, INPUT_BYTES)
        self._at += len(more)
        self._pending += more

    def _next_part(self) -> bool:
        """Whether another part follows; zeros before it are padding, anything else behind the last part is ignored."""
        if self._bits <= 15:
            return False
        while True:
            self._pending = self._pending.lstrip(b"\0")
            if len(self._pending) >= 3:
                break
            before = self._at
            self._fill()
            if self._at == before:
                return False
        if not self._pending.startswith(b"\x1f\x8b\x08"):
            return False
        self._state = zlib.decompressobj(self._bits)
        return True

    @property
    def used(self) -> int:
        return self._at - len(self._pending)

    def mark(self) -> Any | None:
        return None if self._state.eof else (self.used, self._state.copy())


class Stepwise(Stream):
    """bz2, xz and zstd: one part after another, each of which can only be read from its start."""

    def __init__(
        self, below: Source, mark: int | None, name: str, make: Callable[[], Codec], magic: bytes, start: int = 0
    ) -> None:
        self.name = name
        self._below = below
        self._make = make
        self._magic = magic
        """What another part starts with; b"": there is only one."""
        self._at = start if mark is None else mark
        self._pending = b""
        self._state: Codec | None = make() if mark is None else None
        """None between two parts."""

    def read(self, most: int) -> bytes:
        while True:
            if self._state is None and not self._next_part():
                return b""
            state = self._state
            assert state is not None
            if state.needs_input and not self._pending:
                self._fill()
                if not self._pending:
                    raise Broken(ENDS_EARLY)
            try:
                data = state.decompress(self._pending, most)
            except (OSError, EOFError, ValueError) as error:
                raise Broken(_words(error)) from None
            except Exception as error:
                # lzma and zstd have exceptions of their own, in modules that are only there once they are needed.
                if type(error).__name__ not in ("LZMAError", "ZstdError", "error"):
                    raise
                raise Broken(_words(error)) from None
            self._pending = b""
            if state.eof:
                self._pending = state.unused_data
                self._state = None
            if data:
                return data

    def _fill(self) -> None:
        if self.check is not None:
            self.check()
        more = self._below.read_at(self._at, INPUT_BYTES)
        self._at += len(more)
        self._pending += more

    def _next_part(self) -> bool:
        if not self._magic:
            return False
        while True:
            self._pending = self._pending.lstrip(b"\0")
            if len(self._pending) >= len(self._magic):
                break
            before = self._at
            self._fill()
            if self._at == before:
                return False
        if not self._pending.startswith(self._magic):
            return False
        self._state = self._make()
        return True

    @property
    def used(self) -> int:
        return self._at - len(self._pending)

    def mark(self) -> Any | None:
        return self.used if self._state is None and self._magic else None


# --- the formats -----------------------------------------------------------------------------------------------------


def gzip(below: Source, mark: Any | None = None) -> Stream:
    return Inflate(below, mark, 31)


def deflate(below: Source, mark: Any | None = None) -> Stream:
    return Inflate(below, mark, -15)


def bzip2(below: Source, mark: Any | None = None) -> Stream:
    from bz2 import BZ2Decompressor

    return Stepwise(below, mark, "bzip2", BZ2Decompressor, b"BZh")


def xz(below: Source, mark: Any | None = None) -> Stream:
    from lzma import FORMAT_XZ, LZMADecompressor

    return Stepwise(below, mark, "xz", lambda: LZMADecompressor(FORMAT_XZ, MAX_CODEC_BYTES), b"\xfd7zXZ\0")


def zip_lzma(below: Source, mark: Any | None = None) -> Stream:
    """LZMA as zip has it: a short header with the properties, then the bare stream."""
    from lzma import FILTER_LZMA1, FORMAT_RAW, LZMADecompressor

    head = below.read_fully(0, 9)
    if len(head) < 9 or head[2:4] != b"\x05\0" or head[4] >= 9 * 5 * 5:
        raise Broken("its LZMA header makes no sense")
    lc_lp, pb = head[4] % 45, head[4] // 45
    size = int.from_bytes(head[5:9], "little")
    if size > MAX_CODEC_BYTES:
        raise Broken("decoding it takes more memory than is allowed")
    chain = {"id": FILTER_LZMA1, "dict_size": max(size, 4096), "lc": lc_lp % 9, "lp": lc_lp // 9, "pb": pb}
    return Stepwise(below, mark, "lzma", lambda: LZMADecompressor(FORMAT_RAW, filters=[chain]), b"", start=9)


def zstd(below: Source, mark: Any | None = None) -> Stream:
    """Raises: NoCodec."""
    return Stepwise(below, mark, "zstd", _zstd_codec(), b"\x28\xb5\x2f\xfd")


def _zstd_codec() -> Callable[[], Codec]:
    try:
        from compression.zstd import DecompressionParameter, ZstdDecompressor
    except ImportError as error:
        if shortage(error):
            raise
    else:
        most = {DecompressionParameter.window_log_max: MAX_WINDOW_BYTES.bit_length() - 1}
        return lambda: ZstdDecompressor(options=most)
    try:
        import zstandard
    except ImportError as error:
        if shortage(error):
            raise
        raise NoCodec from None
    return lambda: _Zstandard(zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).decompressobj())


class _Zstandard:
    """The decoder of the `zstandard` package, which cannot be told how much to give: it is fed in crumbs.

    A block of 4 bytes can stand for 128 KiB, so a crumb becomes 16 MiB at most.
    """

    crumb_bytes = 512

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self._input = b""
        self._output = b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        self._input += data
        while not self._output and self._input and not self._decoder.eof:
            crumb, self._input = self._input[: self.crumb_bytes], self._input[self.crumb_bytes :]
            self._output = self._decoder.decompress(crumb)
        given = self._output if max_length < 0 else self._output[:max_length]
        self._output = self._output[len(given) :]
        return given

    @property
    def eof(self) -> bool:
        return bool(self._decoder.eof) and not self._output

    @property
    def needs_input(self) -> bool:
        return not self._output and not self._input and not self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return bytes(self._decoder.unused_data) + self._input


STREAMS: dict[str, Callable[[Source, Any | None], Stream]] = {
    "gzip": gzip,
    "bzip2": bzip2,
    "xz": xz,
    "zstd": zstd,
}
SUFFIXES = {
    ".tgz": ".tar",
    ".tbz": ".tar",
    ".tbz2": ".tar",
    ".txz": ".tar",
    ".tzst": ".tar",
    ".gz": "",
    ".bz2": "",
    ".xz": "",
    ".zst": "",
}
"""What the name of a compressed file ends with, and what that becomes when it is decoded."""


def inner_name(name: str) -> str:
    """The name of what a compressed file holds: `app.log.gz` holds `app.log`."""
    lower = name.lower()
    for suffix, instead in SUFFIXES.items():
        if lower.endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)] + instead
    return name


def _zlib_words(error: zlib.error) -> str:
    text = str(error)
    if "incorrect data check" in text or "incorrect length check" in text:
        return "its checksum is wrong"
    return "its compressed data make no sense"


def _words(error: Exception) -> str:
    text = str(error).lower()
    if "memory" in text:
        return f"decoding it takes more than {MAX_CODEC_BYTES >> 20} MiB of memory; unpack it and read what comes out"
    return "its compressed data make no sense"
