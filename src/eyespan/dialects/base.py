"""What every dialect is: a translator that stands beside the engine and knows only nouns and errors."""

from __future__ import annotations

from sys import getsizeof

from eyespan import _native
from eyespan.errors import ReadError, WindowTooLarge
from eyespan.model import MIB, Document, ReadRequest, Reply, ReplyError, TextContent, ToolSpec, drained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.engine import Engine
    from eyespan.model import TextPart

    Admit = Callable[[str, bool], str]

CHANGED = "The file changed while it was read; the lines may come from two versions of it. Read it again."
CHANGED_DOCUMENT = "The file changed while it was read; what is shown may be of two versions of it. Read it again."


class Dialect:
    """One tool schema: how arguments are judged, what is read for them, and how the answer is worded.

    A call goes `parse`, `plan`, the engine, `render`; what is refused on the way goes to `render_error`.
    """

    name = ""
    summary = ""
    """One line for people who choose a dialect."""
    settings: Mapping[str, Any] = {}
    """The settings of this dialect with their defaults; every dialect has `allowed` and `encoding` besides.

    `encoding`: None is the rule of the dialect's document, "auto" finds it out, anything else names an encoding.
    """

    def __init__(self, **settings: Any) -> None:
        known = {"allowed": True, "encoding": None, **self.settings}
        unknown = sorted(set(settings) - set(known))
        if unknown:
            raise TypeError(f"{self.name} has no setting {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        known.update(settings)
        self.allowed: bool = known["allowed"]
        self.encoding: str | None = None if known["encoding"] is None else _checked(known["encoding"])
        self._configure(known)
        self.spec: ToolSpec = self._spec()

    def _configure(self, settings: Mapping[str, Any]) -> None:
        """Takes the dialect's own settings over. Raises: ValueError for a value that makes no sense."""

    def _spec(self) -> ToolSpec:
        raise NotImplementedError

    def run(self, arguments: Any, engine: Engine, context: CallContext | None) -> Reply:
        """One call from arguments to answer. One file is one request; a dialect that reads several does its own way.

        Raises: BadArguments, ReadError.
        """
        args = self.parse(arguments, engine.admit)
        return self.render(args, engine.read(self.plan(args), context))

    def parse(self, arguments: Any, admit: Admit) -> Any:
        """The dialect's own arguments, judged. `admit(path, lexical)` judges a path's name without looking at the disk.

        Raises: BadArguments, ReadError.
        """
        raise NotImplementedError

    def plan(self, args: Any) -> ReadRequest:
        """What to read for these arguments."""
        raise NotImplementedError

    def render(self, args: Any, document: Document) -> Reply:
        """The answer. Raises: BadArguments, where only the file's contents show that the arguments do not fit."""
        raise NotImplementedError

    def render_error(self, error: ReadError) -> ReplyError:
        """The dialect's own code and text for a read that failed."""
        raise NotImplementedError


def _checked(encoding: object) -> str | None:
    from eyespan.lines.encodings import checked

    return checked(encoding)


ENCODING_FACTS = ("encoding", "encoding_confidence", "replaced")


def encoding_facts(document: Document) -> dict[str, Any]:
    """How the text was decoded, for a result object; empty unless the host set `encoding`."""
    extra = document.extra
    return {name: extra[name] for name in ENCODING_FACTS if name in extra} if extra else {}


def encoding_note(document: Document) -> str | None:
    """What a reader of the text should know about its decoding: a guess, or bytes that could not be decoded."""
    extra = document.extra
    if not extra:
        return None
    said = []
    if "encoding_confidence" in extra:
        said.append(
            f"The encoding was guessed to be {extra['encoding']} (confidence {extra['encoding_confidence']:g})."
        )
    if extra.get("replaced"):
        said.append(f"{extra['replaced']} pieces are not valid {extra['encoding']} and are shown as U+FFFD.")
    return " ".join(said) or None


PIECE_BYTES = 65536
MAX_TEXT_BYTES = 16 * MIB
"""How much memory the text of one answer may take; a single wide character makes four bytes of every other."""


def numbered(part: TextPart, **style: Any) -> str:
    """The lines of a part as text; `style` is that of `_native.number`.

    A large window is done a piece at a time and its bytes are used up on the way, so that nothing is held twice.

    Raises: WindowTooLarge.
    """
    data = part.data
    if (len(data) <= MIB and part.line_count <= 20_000) or not isinstance(data, bytearray):
        return _native.number(bytes(data), part.first_line, totals=part.cuts, **style)
    return joined(_numbered_pieces(data, part, style))


def plain(part: TextPart) -> str:
    """The lines of a part as they are, with the same promises."""
    data = part.data
    if len(data) <= MIB or not isinstance(data, bytearray):
        return data.decode("utf-8", "replace")
    return joined(_decoded(drained(data), one_line=False))


def joined(pieces: Iterable[str]) -> str:
    """All pieces as one text, which is never held twice.

    Raises: WindowTooLarge.
    """
    text, width = "", 1
    for piece in pieces:
        if not piece.isascii():
            width = max(width, _width(piece))
        if (len(text) + len(piece)) * width > MAX_TEXT_BYTES:
            raise WindowTooLarge("", limit_bytes=MAX_TEXT_BYTES)
        text += piece  # Python lets a string that nobody else knows grow where it is; join() would hold all twice
    return text


def _width(text: str) -> int:
    """How many bytes Python holds each character of a text in: as many as the widest of them needs."""
    if len(text) > 1000:
        return getsizeof(text) // len(text)  # 1, 2 or 4, and a little for the object
    widest = ord(max(text))
    return 1 if widest < 0x100 else 2 if widest < 0x10000 else 4


def _numbered_pieces(data: bytearray, part: TextPart, style: Mapping[str, Any]) -> Iterator[str]:
    line = part.first_line
    keeps_ends = bool(style.get("keep_ends"))
    pieces = drained(data)
    held, at = pieces.pop(), 0
    before = ""
    while at < len(held) or pieces:
        end = held.rfind(b"\n", at, at + PIECE_BYTES) + 1 or held.find(b"\n", at + PIECE_BYTES) + 1
        if not end:
            if pieces and not (keeps_ends and len(held) - at > MIB):
                held, at = held[at:] + pieces.pop(), 0
                continue
            if pieces:
                # A line that is shown whole, however long: its number, then the line as it is.
                yield _native.number(b"\n", line, **style)[:-1]
                pieces.append(held[at:])
                held = yield from _decoded(pieces)
                at = 0
                line += 1
                continue
            end = len(held)
        piece = held[at:end]
        at = end
        yield before + _native.number(piece, line, totals=part.cuts, **style)
        line += _native.count(piece)
        before = "" if keeps_ends else "\n"


def _decoded(pieces: list[bytes], *, one_line: bool = True) -> Generator[str, None, bytes]:
    """The pieces as text, up to the end of the first line; what follows it in its piece is the value."""
    import codecs

    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    while pieces:
        piece = pieces.pop()
        end = piece.find(b"\n") + 1 if one_line else 0
        if end:
            yield decode(piece[:end], True)
            return piece[end:]
        yield decode(piece, not pieces)
    return b""


def text_reply(text: str, structured: dict[str, Any] | None = None, notes: tuple[str, ...] = ()) -> Reply:
    return Reply((TextContent(text),), structured, None, notes)


def only_text(document: Document) -> TextPart:
    """The one part of a text document."""
    part: Any = document.parts[0]
    found: TextPart = part
    return found
