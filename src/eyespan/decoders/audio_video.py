"""Facts about audio and video files: duration, size of the image, format of the sound, tags.

Each function takes the `Data` of a file of its format and returns short texts. An invalid field raises ValueError,
IndexError or struct.error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from eyespan.decoders.data import Data, duration, text

MAX_BOXES = 2000
MAX_TAGS = 8
_TAG_BYTES = 64 * 1024


def _tag(name: str, value: str) -> list[str]:
    return [f'{name} "{value}"'] if value else []


def _channels(count: int) -> str:
    return f"{count} channel{'' if count == 1 else 's'}"


# --- MP4, MOV, M4A ---------------------------------------------------------------------------------------------------

_MP4_TAGS = {b"\xa9nam": "title", b"\xa9ART": "artist", b"\xa9alb": "album", b"\xa9day": "date"}


def mp4(data: Data) -> list[str]:
    """Return duration, size of the image and tags of an ISO media file."""
    facts: list[str] = []
    for name, start, end in _boxes(data, 0, data.size_bytes):
        if name != b"moov":
            continue
        for inner, at, stop in _boxes(data, start, end):
            if inner == b"mvhd":
                facts.append(duration(_mvhd_seconds(data, at)))
            elif inner == b"trak":
                facts += _track(data, at, stop)
            elif inner in (b"udta", b"meta"):
                facts += _mp4_tags(data, at, stop)
    return list(dict.fromkeys(facts))


def _boxes(data: Data, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, start and end of the contents of each box."""
    for _ in range(MAX_BOXES):
        head = data.at(start, 16)
        if len(head) < 8 or start >= end:
            return
        size, name = struct.unpack(">I4s", head[:8])
        first = 8
        if size == 1 and len(head) == 16:
            size, first = struct.unpack(">Q", head[8:16])[0], 16
        elif size == 0:
            size = end - start
        if size < first:
            return
        yield name, start + first, min(end, start + size)
        start += size


def _mvhd_seconds(data: Data, at: int) -> float:
    if data.big(at, 1) == 1:
        scale, length = data.big(at + 20, 4), data.big(at + 24, 8)
    else:
        scale, length = data.big(at + 12, 4), data.big(at + 16, 4)
    return length / scale if scale else 0.0


def _track(data: Data, start: int, end: int) -> list[str]:
    facts = []
    for name, at, stop in _boxes(data, start, end):
        if name == b"tkhd":
            sizes = at + (88 if data.big(at, 1) == 1 else 76)
            width, height = data.big(sizes, 4) >> 16, data.big(sizes + 4, 4) >> 16
            if width and height:
                facts.append(f"{width} x {height}")
        elif name == b"mdia":
            path = [b"minf", b"stbl", b"stsd"]
            while path:
                found = next(((a, b) for box, a, b in _boxes(data, at, stop) if box == path[0]), None)
                if found is None:
                    break
                at, stop = found
                path.pop(0)
            else:
                codec = text(data.at(at + 12, 4), "latin-1")
                facts += [f"codec {codec}"] if codec else []
    return facts


def _mp4_tags(data: Data, start: int, end: int) -> list[str]:
    for name, at, stop in _boxes(data, start, end):
        if name == b"meta":
            return _mp4_tags(data, at + 4, stop)
        if name == b"ilst":
            facts = []
            for tag, first, last in _boxes(data, at, stop):
                if tag in _MP4_TAGS and last - first > 16:
                    facts += _tag(_MP4_TAGS[tag], text(data.at(first + 16, min(400, last - first - 16))))
            return facts[:MAX_TAGS]
    return []


# --- RIFF and similar ------------------------------------------------------------------------------------------------


def _chunks(data: Data, start: int, order: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, start and size of each chunk of a RIFF or AIFF file."""
    for _ in range(MAX_BOXES):
        head = data.at(start, 8)
        if len(head) < 8:
            return
        name, size = struct.unpack(f"{order}4sI", head)
        yield name, start + 8, size
        start += 8 + size + size % 2


def wav(data: Data) -> list[str]:
    """Return the format and the duration of the sound."""
    facts, per_second = [], 0
    for name, at, size in _chunks(data, 12, "<"):
        if name == b"fmt ":
            _, channels, rate, per_second, _, bits = struct.unpack("<HHIIHH", data.at(at, 16))
            facts.append(f"{_channels(channels)}, {rate} Hz, {bits} bits")
        elif name == b"data" and per_second:
            facts.insert(0, duration(min(size, data.size_bytes) / per_second))
    return facts


def aiff(data: Data) -> list[str]:
    """Return the format and the duration of the sound."""
    for name, at, _ in _chunks(data, 12, ">"):
        if name == b"COMM":
            channels, frames, bits = struct.unpack(">hIh", data.at(at, 8))
            exponent, mantissa = struct.unpack(">HQ", data.at(at + 8, 10))
            rate = mantissa * 2.0 ** ((exponent & 0x7FFF) - 16383 - 63)
            return [duration(frames / rate), f"{_channels(channels)}, {rate:.0f} Hz, {bits} bits"]
    return []


def avi(data: Data) -> list[str]:
    """Return the duration and the size of the image."""
    head = data.at(0, 4096)
    at = head.find(b"avih")
    if at < 0:
        return []
    fields = struct.unpack("<10I", head[at + 8 : at + 48])
    return [duration(fields[4] * fields[0] / 1e6), f"{fields[8]} x {fields[9]}"]


# --- tags of sound ---------------------------------------------------------------------------------------------------

_VORBIS_TAGS = ("title", "artist", "album", "date")


def _vorbis_tags(block: bytes) -> list[str]:
    """Return the tags of a Vorbis comment."""
    (at,) = struct.unpack_from("<I", block)
    at += 4
    (count,) = struct.unpack_from("<I", block, at)
    at += 4
    facts = []
    for _ in range(min(count, 200)):
        (size,) = struct.unpack_from("<I", block, at)
        name, _, value = block[at + 4 : at + 4 + size].partition(b"=")
        at += 4 + size
        if name.decode("ascii", "replace").lower() in _VORBIS_TAGS:
            facts += _tag(name.decode("ascii").lower(), text(value))
    return facts[:MAX_TAGS]


def flac(data: Data) -> list[str]:
    """Return duration, format and tags."""
    facts: list[str] = []
    at = 4
    for _ in range(64):
        kind, size = data.big(at, 1), data.big(at + 1, 3)
        if kind & 0x7F == 0:
            packed = data.big(at + 14, 8)
            rate, channels, bits = packed >> 44, (packed >> 41 & 7) + 1, (packed >> 36 & 31) + 1
            samples = packed & (1 << 36) - 1
            facts += [duration(samples / rate), f"{_channels(channels)}, {rate} Hz, {bits} bits"]
        elif kind & 0x7F == 4:
            facts += _vorbis_tags(data.at(at + 4, min(size, _TAG_BYTES)))
        if kind & 0x80:
            break
        at += 4 + size
    return facts


def ogg(data: Data) -> list[str]:
    """Return codec, duration and tags."""
    head = data.at(0, _TAG_BYTES)
    facts: list[str] = []
    rate = 0
    if b"\x01vorbis" in head[:80]:
        at = head.index(b"\x01vorbis")
        channels, rate = struct.unpack_from("<BI", head, at + 11)
        facts.append(f"Vorbis, {_channels(channels)}, {rate} Hz")
        comment = head.find(b"\x03vorbis")
        facts += _vorbis_tags(head[comment + 7 :]) if comment > 0 else []
    elif b"OpusHead" in head[:80]:
        rate = 48000
        facts.append(f"Opus, {_channels(head[head.index(b'OpusHead') + 9])}")
        comment = head.find(b"OpusTags")
        facts += _vorbis_tags(head[comment + 8 :]) if comment > 0 else []
    elif b"\x80theora" in head[:80]:
        facts.append("Theora video")
    tail = data.at(max(0, data.size_bytes - _TAG_BYTES), _TAG_BYTES)
    last = tail.rfind(b"OggS")
    if rate and last >= 0:
        facts.insert(0, duration(struct.unpack_from("<Q", tail, last + 6)[0] / rate))
    return facts


_ID3_TAGS = {b"TIT2": "title", b"TPE1": "artist", b"TALB": "album", b"TDRC": "date", b"TYER": "date"}
_ID3_ENCODINGS = ("latin-1", "utf-16", "utf-16-be", "utf-8")
_BITRATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_LOW_BITRATES = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)


def mp3(data: Data) -> list[str]:
    """Return duration, format and tags; the duration of a constant bit rate is computed from the size."""
    tags: list[str] = []
    at = 0
    if data.at(0, 3) == b"ID3":
        size = _seven_bits(data.at(6, 4))
        tags = _id3_tags(data.at(10, min(size, _TAG_BYTES)), data.big(3, 1))
        at = 10 + size
    window = data.at(at, 8192)
    for offset in range(max(0, len(window) - 4)):
        if window[offset] == 0xFF and window[offset + 1] & 0xE6 == 0xE2:
            facts = _mp3_frame(data, window[offset : offset + 200], at + offset)
            if facts:
                return [*facts, *tags]
    return tags


def _mp3_frame(data: Data, frame: bytes, at: int) -> list[str]:
    version, rate_index, bitrate_index = frame[1] >> 3 & 3, frame[2] >> 2 & 3, frame[2] >> 4
    if version == 1 or rate_index == 3 or not 0 < bitrate_index < 15:
        return []
    rate = (44100, 48000, 32000)[rate_index] >> {3: 0, 2: 1, 0: 2}[version]
    samples = 1152 if version == 3 else 576
    bitrate = (_BITRATES if version == 3 else _LOW_BITRATES)[bitrate_index]
    mark = max(frame.find(b"Xing"), frame.find(b"Info"))
    if mark > 0 and frame[mark + 7] & 1:
        frames = struct.unpack_from(">I", frame, mark + 8)[0]
        return [duration(frames * samples / rate), f"{rate} Hz"]
    return [f"about {duration((data.size_bytes - at) * 8 / (bitrate * 1000))}", f"{bitrate} kbit/s, {rate} Hz"]


def _seven_bits(field: bytes) -> int:
    value = 0
    for byte in field:
        value = value << 7 | byte & 0x7F
    return value


def _id3_tags(block: bytes, version: int) -> list[str]:
    facts: list[str] = []
    at = 0
    for _ in range(200):
        if len(block) < at + 11 or version < 3:
            break
        name = block[at : at + 4]
        size = _seven_bits(block[at + 4 : at + 8]) if version > 3 else struct.unpack_from(">I", block, at + 4)[0]
        if name in _ID3_TAGS and 1 < size < 2000 and block[at + 10] < 4:
            encoding = _ID3_ENCODINGS[block[at + 10]]
            value = block[at + 11 : at + 10 + size].decode(encoding, "replace").split("\0", 1)[0]
            facts += _tag(_ID3_TAGS[name], text(value.encode("utf-8", "replace")))
        at += 10 + size
    return facts[:MAX_TAGS]


# --- Matroska --------------------------------------------------------------------------------------------------------

_EBML_DIVES = {0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0, 0x1A45DFA3}
_EBML_TEXTS = {0x7BA9: "title", 0x86: "codec"}


def matroska(data: Data) -> list[str]:
    """Return duration, size of the image, codecs and title of an MKV or WebM file."""
    found: dict[str, float] = {}
    facts: list[str] = []
    at = 0
    for _ in range(MAX_BOXES):
        head = data.at(at, 12)
        if len(head) < 2 or not head[0]:
            break
        id_bytes = 9 - head[0].bit_length()
        number = int.from_bytes(head[:id_bytes], "big")
        size_head = head[id_bytes]
        if not size_head:
            break
        size_bytes = 9 - size_head.bit_length()
        size = int.from_bytes(head[id_bytes : id_bytes + size_bytes], "big") & (1 << 7 * size_bytes) - 1
        at += id_bytes + size_bytes
        if number in _EBML_DIVES:
            continue
        if number == 0x1F43B675:  # the first cluster: all headers came before
            break
        if number in (0xB0, 0xBA, 0x2AD7B1) and size <= 8:
            found[hex(number)] = data.big(at, size)
        elif number == 0x4489 and size in (4, 8):
            found["length"] = struct.unpack(">f" if size == 4 else ">d", data.at(at, size))[0]
        elif number in _EBML_TEXTS and size < 1000:
            shown = text(data.at(at, size))
            facts.append(f"codec {shown}" if number == 0x86 else f'title "{shown}"')
        at += size
    if "0xb0" in found and "0xba" in found:
        facts.insert(0, f"{found['0xb0']:.0f} x {found['0xba']:.0f}")
    if "length" in found:
        facts.insert(0, duration(found["length"] * found.get("0x2ad7b1", 1_000_000) / 1e9))
    return facts


def midi(data: Data) -> list[str]:
    """Return the number of tracks."""
    return [f"{data.big(10, 2)} tracks"]
