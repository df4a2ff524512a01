"""What a file is: decided by its first bytes, then, for kinds that have no mark of their own, by its name.

A new kind is one row in `KINDS` and one reader module, which is imported on first use.
"""

from __future__ import annotations

from eyespan.lines.encodings import by_mark, choose, plain_wide
from eyespan.model import ANY_IS_TEXT, NUL_OR_BAD_UTF8_IS_BINARY, SNIFF_BYTES
from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


@record
class Kind:
    """One kind of file: how it is known and which module reads it."""

    name: str
    reader: str
    says: Callable[[bytes], bool] | None = None
    """Whether the first bytes are of this kind."""
    suffixes: tuple[str, ...] = ()
    """Names that make a file of this kind when no row claims its bytes."""


def image_type(head: bytes) -> str | None:
    """The media type of a picture that model APIs take as it is, by its first bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def _is_image(head: bytes) -> bool:
    return image_type(head) is not None


def _is_pdf(head: bytes) -> bool:
    return b"%PDF-" in head[:1024]


KINDS = (
    Kind("image", "eyespan.readers.image", _is_image),
    Kind("pdf", "eyespan.readers.pdf", _is_pdf, (".pdf",)),
    Kind("notebook", "eyespan.readers.notebook", None, (".ipynb",)),
)
TEXT = Kind("text", "eyespan.readers.text")
BINARY = Kind("binary", "eyespan.readers.binary")


def detect(head: bytes, name: str) -> Kind | None:
    """The document kind of a file, or None if it is plain text or unknown. An empty file is of no kind."""
    if not head:
        return None
    for kind in KINDS:
        if kind.says is not None and kind.says(head):
            return kind
    lower = name.lower()
    for kind in KINDS:
        if kind.suffixes and lower.endswith(kind.suffixes):
            return kind
    return None


def is_binary(head: bytes, rule: str, encoding_rule: str, whole: bool) -> bool:
    """Whether a dialect's rule takes these first bytes for binary; `whole`: they are all there is."""
    if rule == ANY_IS_TEXT:
        return False
    if encoding_rule not in ("utf-8", "utf-8-sig"):
        wide = _reads_wide(head, encoding_rule)
        if wide is not None:
            return not wide
    sample = head[:SNIFF_BYTES]
    if b"\0" in sample:
        return True
    if rule == NUL_OR_BAD_UTF8_IS_BINARY:
        try:
            sample.decode("utf-8")
        except UnicodeDecodeError as error:
            # A character that only the end of the sample cut in two is no mistake; one that the file itself cut is.
            cut_by_us = error.reason == "unexpected end of data" and error.end == len(sample)
            if cut_by_us and not (whole and len(head) <= SNIFF_BYTES):
                return False
            return encoding_rule != "auto" or not _is_guessable(head)
    return False


def _reads_wide(head: bytes, encoding_rule: str) -> bool | None:
    """Whether a wide encoding makes text of these bytes; None if the rule gives no wide encoding."""
    if by_mark(head) is not None and encoding_rule in ("bom", "auto", "utf-16", "utf-32"):
        return True
    if encoding_rule == "auto":
        return True if plain_wide(head[:SNIFF_BYTES]) is not None else None
    if not encoding_rule.startswith(("utf-16", "utf-32")):
        return None
    # A named encoding is the host's word, but a file of it holds no NUL characters either.
    encoding = choose(encoding_rule, head)
    sample = head[: SNIFF_BYTES * encoding.unit_bytes]
    return "\0" not in sample.decode(encoding.name, "replace")


def _is_guessable(head: bytes) -> bool:
    from eyespan.lines.detect import detect

    return detect(head) is not None
