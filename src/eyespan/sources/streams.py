"""Sequential decompression: the decoded bytes of a compressed source, in order, one piece at a time.

A stream reads input from the source below it as needed and never returns more than requested. Its memory is bounded by
one piece of input, one piece of output and the codec's own window, whatever the input decodes to. zlib, bz2 and lzma
come from the standard library and run in this process: their input is untrusted, but they have been fuzzed for years,
and bytes, memory and time are bounded here. Some streams give checkpoints, from which another stream can continue.
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
        """The common interface of the bz2, lzma and zstd decompressors."""

        def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...
        @property
        def eof(self) -> bool: ...
        @property
        def needs_input(self) -> bool: ...
        @property
        def unused_data(self) -> bytes: ...


INPUT_BYTES = 16 * 1024
MAX_CODEC_BYTES = 72 << 20
"""The most memory a codec may use: enough for the output of `xz -9`, the largest setting in common use."""
MAX_WINDOW_BYTES = 32 << 20
"""The same for zstd, whose default and `-19` need 8 MiB."""
_ENDS_EARLY = "it ends too early"
_CORRUPT = "corrupt compressed data"


class Broken(Exception):
    """The input violates its format; the message gives the reason, for a person."""


class NoCodec(Exception):
    """The optional package that decodes this format is not installed."""


class Stream:
    """One pass over compressed input that consists of one part or of several in a row.

    `magic` are the first bytes of each further part; b"" means that there is only one. A subclass decodes one part.
    """

    check: Callable[[], None] | None = None
    """Called before more input is read, because endless input may produce no output to stop at."""

    def __init__(self, below: Source, start: int, magic: bytes) -> None:
        self._below = below
        self._at = start
        self._magic = magic
        self._pending = b""

    def read(self, size_bytes: int) -> bytes:
        """Return the next bytes, at most `size_bytes`; b"" at the end.

        Raises: Broken, and what the source below raises.
        """
        raise NotImplementedError  # abstract

    def checkpoint(self) -> Any | None:
        """Return a state from which a new stream continues here, or None if this position has none."""
        raise NotImplementedError  # abstract

    @property
    def used(self) -> int:
        """Return the position in the input after the bytes consumed so far."""
        return self._at - len(self._pending)

    def _fill(self) -> None:
        if self.check is not None:
            self.check()
        more = self._below.read_at(self._at, INPUT_BYTES)
        self._at += len(more)
        self._pending += more

    def _fill_or_fail(self) -> None:
        self._fill()
        if not self._pending:
            raise Broken(_ENDS_EARLY)

    def _has_next_part(self) -> bool:
        """Return True if another part follows. Zeros before it are padding; other bytes after the last are ignored."""
        if not self._magic:
            return False
        while True:
            self._pending = self._pending.lstrip(b"\0")
            if len(self._pending) >= len(self._magic):
                return self._pending.startswith(self._magic)
            before = self._at
            self._fill()
            if self._at == before:
                return False


class Inflate(Stream):
    """Deflate: zip members (`bits` -15), git objects (15) and gzip files (31), which may have several parts.

    It has checkpoints everywhere; each holds the 40 KB or so of history that zlib needs.
    """

    def __init__(self, below: Source, checkpoint: tuple[int, Any] | None, bits: int, start: int = 0) -> None:
        super().__init__(below, start if checkpoint is None else checkpoint[0], b"\x1f\x8b\x08" if bits > 15 else b"")
        self._bits = bits
        self._state = zlib.decompressobj(bits) if checkpoint is None else checkpoint[1].copy()

    def read(self, size_bytes: int) -> bytes:
        while True:
            if self._state.eof:
                if not self._has_next_part():
                    return b""
                self._state = zlib.decompressobj(self._bits)
            try:
                data = self._state.decompress(self._pending, size_bytes)
            except zlib.error as error:
                is_checksum = "incorrect data check" in str(error) or "incorrect length check" in str(error)
                raise Broken("wrong checksum" if is_checksum else _CORRUPT) from None
            self._pending = self._state.unused_data if self._state.eof else self._state.unconsumed_tail
            if data:
                return data
            if not self._state.eof:
                self._fill_or_fail()

    def checkpoint(self) -> Any | None:
        return None if self._state.eof else (self.used, self._state.copy())


class PartwiseStream(Stream):
    """bz2, xz and zstd: each part can only be read from its start, so checkpoints exist between parts only."""

    def __init__(
        self, below: Source, checkpoint: int | None, make: Callable[[], Codec], magic: bytes, start: int = 0
    ) -> None:
        super().__init__(below, start if checkpoint is None else checkpoint, magic)
        self._make = make
        self._codec: Codec | None = make() if checkpoint is None else None
        """None between two parts."""

    def read(self, size_bytes: int) -> bytes:
        while True:
            codec = self._codec
            if codec is None:
                if not self._has_next_part():
                    return b""
                codec = self._codec = self._make()
            if codec.needs_input and not self._pending:
                self._fill_or_fail()
            try:
                data = codec.decompress(self._pending, size_bytes)
            except Exception as error:
                # lzma and zstd raise exceptions of their own, and their modules are loaded only where they are needed.
                if not isinstance(error, (OSError, EOFError, ValueError)) and (
                    type(error).__name__ not in ("LZMAError", "ZstdError", "error")
                ):
                    raise
                raise Broken(_codec_reason(error)) from None
            self._pending = b""
            if codec.eof:
                self._pending = codec.unused_data
                self._codec = None
            if data:
                return data

    def checkpoint(self) -> Any | None:
        return self.used if self._codec is None and self._magic else None


def _codec_reason(error: Exception) -> str:
    if "memory" in str(error).lower():
        limit = MAX_CODEC_BYTES >> 20
        return f"decoding it takes more than {limit} MiB of memory; unpack it and read the unpacked file"
    return _CORRUPT


# --- the formats -----------------------------------------------------------------------------------------------------


def gzip(below: Source, checkpoint: Any | None = None) -> Stream:
    return Inflate(below, checkpoint, 31)


def deflate(below: Source, checkpoint: Any | None = None) -> Stream:
    return Inflate(below, checkpoint, -15)


def bzip2(below: Source, checkpoint: Any | None = None) -> Stream:
    from bz2 import BZ2Decompressor

    return PartwiseStream(below, checkpoint, BZ2Decompressor, b"BZh")


def xz(below: Source, checkpoint: Any | None = None) -> Stream:
    from lzma import FORMAT_XZ, LZMADecompressor

    return PartwiseStream(below, checkpoint, lambda: LZMADecompressor(FORMAT_XZ, MAX_CODEC_BYTES), b"\xfd7zXZ\0")


def zip_lzma(below: Source, checkpoint: Any | None = None) -> Stream:
    """Decode LZMA in zip: a short header with the properties, then the bare stream. Raises: Broken."""
    from lzma import FILTER_LZMA1, FORMAT_RAW, LZMADecompressor

    header = below.read_fully(0, 9)
    if len(header) < 9 or header[2:4] != b"\x05\0" or header[4] >= 9 * 5 * 5:
        raise Broken("invalid LZMA header")
    lc_lp, pb = header[4] % 45, header[4] // 45
    size = int.from_bytes(header[5:9], "little")
    if size > MAX_CODEC_BYTES:
        raise Broken(f"decoding it takes more than {MAX_CODEC_BYTES >> 20} MiB of memory")
    chain = {"id": FILTER_LZMA1, "dict_size": max(size, 4096), "lc": lc_lp % 9, "lp": lc_lp // 9, "pb": pb}
    return PartwiseStream(below, checkpoint, lambda: LZMADecompressor(FORMAT_RAW, filters=[chain]), b"", start=9)


def zstd(below: Source, checkpoint: Any | None = None) -> Stream:
    """Decode zstd. Raises: NoCodec."""
    return PartwiseStream(below, checkpoint, _zstd_codec(), b"\x28\xb5\x2f\xfd")


def _zstd_codec() -> Callable[[], Codec]:
    try:
        from compression.zstd import DecompressionParameter, ZstdDecompressor
    except ImportError as error:
        if shortage(error):
            raise
    else:
        options = {DecompressionParameter.window_log_max: MAX_WINDOW_BYTES.bit_length() - 1}
        return lambda: ZstdDecompressor(options=options)
    try:
        import zstandard
    except ImportError as error:
        if shortage(error):
            raise
        raise NoCodec from None
    return lambda: _Zstandard(zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).decompressobj())


class _Zstandard:
    """The decompressor of the `zstandard` package behind the `Codec` interface.

    That package has no limit on the output of one call, so it gets small pieces of input. A block of 4 bytes can decode
    to 128 KiB, so one piece decodes to 4 MiB at most.
    """

    piece_bytes = 128

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self._input = b""
        self._input_at = 0
        self._output = b""
        self._output_at = 0

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if data:
            self._input, self._input_at = self._input[self._input_at :] + data, 0
        while not self._has_output() and self._has_input() and not self._decoder.eof:
            end = self._input_at + self.piece_bytes
            piece, self._input_at = self._input[self._input_at : end], min(end, len(self._input))
            self._output, self._output_at = self._decoder.decompress(piece), 0
        end = len(self._output) if max_length < 0 else min(len(self._output), self._output_at + max_length)
        data, self._output_at = self._output[self._output_at : end], end
        return data

    def _has_input(self) -> bool:
        return self._input_at < len(self._input)

    def _has_output(self) -> bool:
        return self._output_at < len(self._output)

    @property
    def eof(self) -> bool:
        return bool(self._decoder.eof) and not self._has_output()

    @property
    def needs_input(self) -> bool:
        return not self._has_output() and not self._has_input() and not self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return bytes(self._decoder.unused_data) + self._input[self._input_at :]


STREAMS: dict[str, Callable[[Source, Any | None], Stream]] = {
    "gzip": gzip,
    "bzip2": bzip2,
    "xz": xz,
    "zstd": zstd,
}
_SUFFIXES = {
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
"""The suffixes of compressed files, and their replacements after decoding."""


def inner_name(name: str) -> str:
    """Return the name of the decoded file: `app.log` for `app.log.gz`."""
    lower = name.lower()
    for suffix, replacement in _SUFFIXES.items():
        if lower.endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)] + replacement
    return name
