"""Formats by their first bytes: images, archives and compressed files.

Nothing here looks at names. A signature is a function that returns True if the first bytes are of a format.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from eyespan.model import SNIFF_BYTES

Signature = Callable[[bytes], bool]

ZIP_HEADER = b"PK\3\4"
DECODED_BYTES = 16 * 1024
"""What is decoded at a time to find out if bytes are valid: new memory takes longer than decoding."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """The signature of a format whose files have these bytes, or one of several strings of bytes, at a place."""

    at: int
    value: bytes | tuple[bytes, ...]
    also: Signature | None = None
    """What else is true of such files, if other files may have the same bytes."""

    def __call__(self, first_bytes: bytes) -> bool:
        return first_bytes.startswith(self.value, self.at) and (self.also is None or self.also(first_bytes))


def first_fit(rows: Iterable[tuple[str, Bytes]], first_bytes: bytes) -> str | None:
    """Return the name of the first row whose signature fits; None if none does."""
    for name, signature in rows:
        if first_bytes.startswith(signature.value, signature.at) and signature(first_bytes):
            return name
    return None


def is_binary(first_bytes: bytes) -> bool:
    """Return True if the first bytes are no text in UTF-8. Letters that begin files of a format may begin texts too."""
    sample = first_bytes[:SNIFF_BYTES]
    return b"\0" in sample or not (sample.isascii() or is_utf8(sample))


def is_utf8(sample: bytes) -> bool:
    """Return True if bytes are valid UTF-8, but for the end of their last character."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(sample), DECODED_BYTES):
            decoder.decode(sample[at : at + DECODED_BYTES])
    except UnicodeDecodeError:
        return False
    # The sample may end within a character, which proves nothing about the rest.
    return decoder.getstate()[0] != sample


# --- images ----------------------------------------------------------------------------------------------------------


def _is_webp(first_bytes: bytes) -> bool:
    return first_bytes[8:12] == b"WEBP"


_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)


def _has_bmp_header(first_bytes: bytes) -> bool:
    # The header after the first 14 bytes begins with its size. The two letters alone also begin texts.
    return int.from_bytes(first_bytes[14:18], "little") in _BMP_HEADERS


def _has_icons(first_bytes: bytes) -> bool:
    """Return True if an entry of an icon follows the signature: its data lies after the list of entries."""
    count, offset = int.from_bytes(first_bytes[4:6], "little"), int.from_bytes(first_bytes[18:22], "little")
    return len(first_bytes) >= 22 and 0 < count <= 256 and first_bytes[9] == 0 and offset >= 6 + 16 * count


def _brands(first_bytes: bytes) -> tuple[bytes, ...]:
    """Return the brands of a file of the family of MP4, by which HEIC and AVIF are known."""
    if first_bytes[4:8] != b"ftyp":
        return ()
    size = min(int.from_bytes(first_bytes[:4], "big"), 256)
    return (first_bytes[8:12], *[first_bytes[at : at + 4] for at in range(16, size, 4)])


def _is_avif(first_bytes: bytes) -> bool:
    return not {b"avif", b"avis"}.isdisjoint(_brands(first_bytes))


_HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"hevm", b"hevs", b"mif1", b"msf1")


def _is_heif(first_bytes: bytes) -> bool:
    return not set(_HEIF_BRANDS).isdisjoint(_brands(first_bytes))


def is_anymap(first_bytes: bytes) -> bool:
    """Return True for the header of a PBM, PGM or PPM image: the signature, then two or three numbers."""
    if first_bytes[2:3] not in b" \t\r\n" or len(first_bytes) < 7:
        return False
    lines = first_bytes[2:1024].split(b"\n", 16)
    header = b" ".join([line.split(b"#", 1)[0] for line in lines]).split(None, 3)
    count = 2 if first_bytes[1:2] in b"14" else 3
    return len(header) >= count and all(word.isdigit() and len(word) < 7 for word in header[:count])


def _is_fli(first_bytes: bytes) -> bool:
    return first_bytes[14:16] in (b"\0\0", b"\3\0")


def _has_tiff(first_bytes: bytes) -> bool:
    return any(first_bytes[24:28])  # its size


def _is_tga(first_bytes: bytes) -> bool:
    """Return True for the header of a Targa image, which has no signature but few possible values."""
    if len(first_bytes) < 19 or first_bytes[17] & 0xC0:
        return False
    has_map, kind, bits = first_bytes[1], first_bytes[2], first_bytes[16]
    if has_map:
        if bits != 8 or first_bytes[7] not in (15, 16, 24, 32):
            return False
    elif first_bytes[3:8] != b"\0" * 5 or bits not in (8, 15, 16, 24, 32):
        return False
    width, height = (int.from_bytes(first_bytes[at : at + 2], "little") for at in (12, 14))
    return 0 < width <= 16384 and 0 < height <= 16384 and (first_bytes[0] == 0 or kind not in (3, 11))


_API_IMAGES: tuple[tuple[str, Bytes], ...] = (
    ("image/png", Bytes(0, b"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", Bytes(0, b"\xff\xd8\xff")),
    ("image/gif", Bytes(0, (b"GIF87a", b"GIF89a"), also=is_binary)),
    ("image/webp", Bytes(0, b"RIFF", also=_is_webp)),
)
_PCX = tuple([b"\n%c\1%c" % (version, bits) for version in (0, 2, 3, 4, 5) for bits in (1, 2, 4, 8)])
_IMAGES: tuple[tuple[str, Bytes], ...] = (
    *_API_IMAGES,
    ("image/bmp", Bytes(0, b"BM", also=_has_bmp_header)),
    ("image/tiff", Bytes(0, (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"))),
    ("image/x-icon", Bytes(0, b"\0\0\1\0", also=_has_icons)),
    ("image/avif", Bytes(0, b"\0", also=_is_avif)),
    ("image/heic", Bytes(0, b"\0", also=_is_heif)),
    ("image/jp2", Bytes(0, (b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51"))),
    ("image/vnd.ms-dds", Bytes(0, b"DDS \x7c\0\0\0")),
    ("image/vnd.adobe.photoshop", Bytes(0, b"8BPS\0\1\0\0\0\0\0\0")),
    ("image/x-portable-anymap", Bytes(0, (b"P4", b"P5", b"P6"), also=is_anymap)),
    ("image/sgi", Bytes(0, (b"\1\xda\0\1", b"\1\xda\0\2", b"\1\xda\1\1", b"\1\xda\1\2"))),
    ("image/vnd.zbrush.pcx", Bytes(0, _PCX)),
    ("image/icns", Bytes(0, b"icns", also=is_binary)),
    ("image/x-fli", Bytes(4, (b"\x11\xaf", b"\x12\xaf"), also=_is_fli)),
    ("image/x-eps", Bytes(0, b"\xc5\xd0\xd3\xc6", also=_has_tiff)),
    # Last: it has no signature of its own. Two bytes state whether it has a map of colours, and its type.
    ("image/x-tga", Bytes(1, (b"\0\2", b"\0\3", b"\0\x0a", b"\0\x0b", b"\1\1", b"\1\x09"), also=_is_tga)),
)


def api_image_type(first_bytes: bytes) -> str | None:
    """Return the media type of an image that model APIs accept unchanged, by its first bytes; None for others."""
    media_type = image_type(first_bytes)
    return media_type if media_type in dict(_API_IMAGES) else None


def image_type(first_bytes: bytes) -> str | None:
    """Return the media type of an image that can be shown, perhaps converted, by its first bytes; None for others."""
    return first_fit(_IMAGES, first_bytes)


def is_image(first_bytes: bytes) -> bool:
    """Return True if the file is an image that can be shown."""
    return image_type(first_bytes) is not None


# --- archives and compressed files -----------------------------------------------------------------------------------

_TAR_BLOCK = 512
_COMPRESSED = {b"\x1f\x8b\x08": "gzip", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)")
"""Three letters and the block size, then the signature of a block or of the end."""


def compression(first_bytes: bytes) -> str | None:
    """Return the compression format of a file by its first bytes, or None."""
    if not first_bytes.startswith(tuple(_COMPRESSED)):
        return None
    method = next(name for start, name in _COMPRESSED.items() if first_bytes.startswith(start))
    return None if method == "bzip2" and not _BZIP2.match(first_bytes) else method


def archive(first_bytes: bytes) -> str | None:
    """Return the archive format of a file by its first bytes: "zip", "tar" or None."""
    if first_bytes[:4] in (ZIP_HEADER, b"PK\5\6"):
        return "zip"
    return "tar" if first_bytes[:1] != b"\0" and tar_checksum_fits(first_bytes[:_TAR_BLOCK]) else None


def container(first_bytes: bytes) -> str:
    """Return the archive or compression format of a file by its first bytes; "" if it has none."""
    return archive(first_bytes) or compression(first_bytes) or ""


def tar_checksum_fits(block: bytes) -> bool:
    """Return True if this is the header of a tar member. Old archives have no other signature."""
    field = block[148:156].split(b"\0", 1)[0].strip(b" ")
    if not field.isdigit() or len(block) < _TAR_BLOCK:
        return False
    try:
        checksum = int(field, 8)
    except ValueError:
        return False
    unsigned = sum(block) - sum(block[148:156]) + 8 * 32
    # Some old archivers added signed bytes.
    signed = unsigned - 256 * sum([byte > 127 for byte in block[:148] + block[156:]])
    return checksum in (unsigned, signed)
