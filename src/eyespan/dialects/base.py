"""What every dialect is: a translator that stands beside the engine and knows only nouns and errors."""

from __future__ import annotations

from eyespan import _native
from eyespan.errors import ReadError
from eyespan.model import MIB, Document, ReadRequest, Reply, ReplyError, TextContent, ToolSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

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
    return {name: document.extra[name] for name in ENCODING_FACTS if name in document.extra}


def encoding_note(document: Document) -> str | None:
    """What a reader of the text should know about its decoding: a guess, or bytes that could not be decoded."""
    extra = document.extra
    said = []
    if "encoding_confidence" in extra:
        said.append(
            f"The encoding was guessed to be {extra['encoding']} (confidence {extra['encoding_confidence']:g})."
        )
    if extra.get("replaced"):
        said.append(f"{extra['replaced']} pieces are not valid {extra['encoding']} and are shown as U+FFFD.")
    return " ".join(said) or None


def numbered(part: TextPart, **style: Any) -> str:
    """The lines of a part as text; `style` is that of `_native.number`. Large windows are done a piece at a time."""
    data = part.data
    if len(data) <= MIB:
        return _native.number(bytes(data), part.first_line, totals=part.cuts, **style)
    pieces: list[str] = []
    at, line = 0, part.first_line
    while at < len(data):
        end = data.find(b"\n", min(len(data), at + MIB)) + 1 or len(data)
        piece = bytes(data[at:end])
        pieces.append(_native.number(piece, line, totals=part.cuts, **style))
        line += _native.count(piece)
        at = end
    return ("" if style.get("keep_ends") else "\n").join(pieces)


def text_reply(text: str, structured: dict[str, Any] | None = None, notes: tuple[str, ...] = ()) -> Reply:
    return Reply((TextContent(text),), structured, None, notes)


def only_text(document: Document) -> TextPart:
    """The one part of a text document."""
    part: Any = document.parts[0]
    found: TextPart = part
    return found
