"""Sequential decompression: the decoded bytes of a compressed source, in order, one piece at a time.

A stream reads input from the source below it as needed and never returns more than requested. Its memory is bounded by
one piece of input, one piece of output and the codec's own window, whatever the input decodes to; `codec_bytes` reports
that window, so that the call can pay for it. zlib, bz2 and lzma
come from the standard library and run in this process: their input is untrusted, but they have been fuzzed for years,
and bytes, memory and time are bounded here. Some streams give checkpoints, from which another stream can continue.
"""

from __future__ import annotations

import zlib
from bz2 import BZ2Decompressor
from collections.abc import Callable
from lzma import FORMAT_XZ, LZMADecompressor
from typing import Any, Protocol

from eyespan.errors import shortage
from eyespan.model import MIB
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
"""The largest dictionary of xz: enough for the output of `xz -9`, the largest setting in common use.

A codec fills its dictionary with what it decodes, so a call pays for as much of it as was decoded.
"""
MAX_WINDOW_BYTES = 32 << 20
"""The same for zstd, whose default and `-19` need 8 MiB."""
_CODEC_BYTES = 64 << 10
"""The memory of a codec beside its window."""
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
    has_checkpoints = False
    """Going back is cheap, because there are checkpoints everywhere."""

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

    def close(self) -> None:  # most codecs are small
        """Free the memory of a large codec; an error may hold the stream for longer."""

    def codec_bytes(self, more_bytes: int) -> int:
        """Return the memory that the codec has once it has decoded `more_bytes` more."""
        return _CODEC_BYTES

    @property
    def window_bytes(self) -> int:
        """Return the most that the codec holds of its output, if that is much."""
        return 0

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
            raise Broken("it ends too early")

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

    has_checkpoints = True

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
    """bz2, xz and zstd: each part can only be read from its start, so checkpoints exist between parts only.

    `window_bytes` is the most that the codec holds of its output.
    """

    def __init__(
        self, below: Source, checkpoint: int | None, make: Callable[[], Codec], magic: bytes, *, window_bytes: int
    ) -> None:
        super().__init__(below, checkpoint or 0, magic)
        self._make = make
        self._codec: Codec | None = None
        """None between two parts."""
        self._window_bytes = window_bytes
        self._part_bytes = 0
        """The output of the present part."""
        if checkpoint is None:
            self._codec = self._start_part()

    def close(self) -> None:
        self._codec = None

    @property
    def window_bytes(self) -> int:
        return self._window_bytes

    def codec_bytes(self, more_bytes: int) -> int:
        return _CODEC_BYTES + min(self._window_bytes, self._part_bytes + more_bytes)

    def read(self, size_bytes: int) -> bytes:
        while True:
            codec = self._codec
            if codec is None:
                if not self._has_next_part():
                    return b""
                codec = self._codec = self._start_part()
                self._part_bytes = 0
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
                self._part_bytes += len(data)
                return data

    def _start_part(self) -> Codec:
        """Return the codec for the part that starts here."""
        return self._make()

    def checkpoint(self) -> Any | None:
        return self.used if self._codec is None and self._magic else None


def _codec_reason(error: Exception) -> str:
    if "memory" in str(error).lower():
        return "decoding it takes too much memory; unpack it and read the unpacked file"
    return _CORRUPT


# --- the formats -----------------------------------------------------------------------------------------------------


def gzip(below: Source, checkpoint: Any | None = None) -> Stream:
    return Inflate(below, checkpoint, 31)


def deflate(below: Source, checkpoint: Any | None = None) -> Stream:
    return Inflate(below, checkpoint, -15)


def bzip2(below: Source, checkpoint: Any | None = None) -> Stream:
    return Bzip2Stream(below, checkpoint, BZ2Decompressor, b"BZh", window_bytes=3800 << 10)


class Bzip2Stream(PartwiseStream):
    """bz2: a block is decoded whole before its first byte is returned."""

    def codec_bytes(self, more_bytes: int) -> int:
        return _CODEC_BYTES + self._window_bytes


def xz(below: Source, checkpoint: Any | None = None) -> Stream:
    return XzStream(below, checkpoint)


class XzStream(PartwiseStream):
    """xz: a block header gives the size of the dictionary, which is the memory that the codec needs."""

    def __init__(self, below: Source, checkpoint: int | None) -> None:
        super().__init__(below, checkpoint, self._codec_of_window, b"\xfd7zXZ\0", window_bytes=0)

    def _start_part(self) -> Codec:
        self._window_bytes = _xz_dictionary_bytes(self._below.read_fully(self.used, 12 + 1024))
        if self._window_bytes > MAX_CODEC_BYTES:
            limit = MAX_CODEC_BYTES >> 20
            raise Broken(f"decoding it takes more than {limit} MiB of memory; unpack it and read the unpacked file")
        return super()._start_part()

    def _codec_of_window(self) -> Codec:
        return LZMADecompressor(FORMAT_XZ, self._window_bytes + MIB)


def _xz_dictionary_bytes(start: bytes) -> int:
    """Return the size of the dictionary of the first block of a part. Later blocks may not have a larger one."""
    block = start[12 : 12 + 4 * (start[12] + 1)] if len(start) > 12 and start[12] else b""
    if len(block) < 8:
        return 0  # no block, or not valid
    at = 2
    for flag in (0x40, 0x80):  # the sizes of the block, as numbers of 7 bits per byte
        if block[1] & flag:
            at += len(block[at:]) - len(block[at:].lstrip(_CONTINUED)) + 1
    for _ in range((block[1] & 3) + 1):
        if at + 2 >= len(block):
            break
        if block[at] == 0x21:  # LZMA2 has one byte of properties
            bits = block[at + 2]
            return 0xFFFFFFFF if bits >= 40 else (2 | (bits & 1)) << (bits // 2 + 11)
        at += 2 + block[at + 1]
    return MAX_CODEC_BYTES


_CONTINUED = bytes(range(128, 256))


def zstd(below: Source, checkpoint: Any | None = None) -> Stream:
    """Decode zstd. Raises: NoCodec."""
    try:
        import zstandard
    except ImportError as error:
        if shortage(error):
            raise  # the module cannot be loaded for want of a descriptor or of memory
        raise NoCodec from None
    return ZstdStream(below, checkpoint, lambda: _Zstd(zstandard), b"\x28\xb5\x2f\xfd", window_bytes=0)


class ZstdStream(PartwiseStream):
    """zstd: a frame header gives the size of the window; frames with other data may stand between the parts."""

    def codec_bytes(self, more_bytes: int) -> int:
        return super().codec_bytes(more_bytes) + _Zstd.MAX_OUTPUT_BYTES

    def _start_part(self) -> Codec:
        codec = super()._start_part()
        assert isinstance(codec, _Zstd)
        self._window_bytes = codec.window_bytes(self._below.read_fully(self.used, 18))
        return codec

    def _has_next_part(self) -> bool:
        while not super()._has_next_part():
            pending = self._pending
            if len(pending) < 8 or pending[0] & 0xF0 != 0x50 or pending[1:4] != b"\x2a\x4d\x18":
                return False
            end = self.used + 8 + int.from_bytes(pending[4:8], "little")
            self._pending, self._at = b"", end
        return True


class _Zstd:
    """The decoder of one frame. The library cannot limit its output, so it gets few bytes at a time."""

    INPUT_BYTES = 64
    MAX_OUTPUT_BYTES = 2 << 20
    """The output of such an input: a block of 128 KiB takes four bytes at least."""

    def __init__(self, zstandard: Any) -> None:
        self._library = zstandard
        self._decoder = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).decompressobj()
        self._input, self._at = b"", 0
        self._output = b""

    def window_bytes(self, header: bytes) -> int:
        """Return the size of the window of the frame that starts so. Raises: Broken."""
        try:
            return int(self._library.get_frame_parameters(header).window_size)
        except self._library.ZstdError:
            raise Broken(_CORRUPT) from None

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if data:
            self._input, self._at = self._input[self._at :] + data, 0
        while not self._output and self._at < len(self._input) and not self._decoder.eof:
            piece = self._input[self._at : self._at + self.INPUT_BYTES]
            self._at += len(piece)
            self._output = self._decoder.decompress(piece)
        end = len(self._output) if max_length < 0 else max_length
        data, self._output = self._output[:end], self._output[end:]
        return data

    @property
    def eof(self) -> bool:
        return bool(self._decoder.eof) and not self._output

    @property
    def needs_input(self) -> bool:
        return not self._output and not self._decoder.eof and self._at >= len(self._input)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._decoder.unused_data) + self._input[self._at :]


STREAMS: dict[str, Callable[[Source, Any | None], Stream]] = {"gzip": gzip, "bzip2": bzip2, "xz": xz, "zstd": zstd}
