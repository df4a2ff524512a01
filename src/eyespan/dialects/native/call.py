"""One call of the native tool: targets become parts, parts share the budget, what is left out gets its selector."""

from __future__ import annotations

import errno

from eyespan import errors, tokens
from eyespan.dialects.native.parts import Failure, Folder, Part, Shown, no_such_part
from eyespan.dialects.native.suggestions import Suggestions, differing
from eyespan.dialects.native.text import OutlineOnly, TextFile
from eyespan.model import CHEAP_TOTAL, NUL_IS_BINARY, CharRange, ReadRequest, Reply, ReplyError, TextContent, TextPart
from eyespan.selectors import Area, Named, Ranges, Symbol, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from eyespan.context import CallContext
    from eyespan.dialects.native import Ask, Native, NativeArgs
    from eyespan.engine import Engine
    from eyespan.errors import ReadError
    from eyespan.model import Document, Selection
    from eyespan.selectors import Piece

CHARS_PER_TOKEN = 8
"""As many characters are read for each token of the budget; text that is cheaper still is read on in another call."""
LEAST_CHARS = 16 * 1024
LEAST_SHARE = 60
"""A part that would get less is left out whole, unless it is the first."""
TEXTLIKE = ("docx", "pptx", "sheet", "epub", "eml", "sqlite", "parquet", "csv")
DOCUMENTS = frozenset(("image", "pdf", "notebook", "archive", "compressed", *TEXTLIKE))
"""Kinds that are shown as what they are. HTML is source code to whoever reads a workspace."""
MAX_TRIED = 6
NO_SUCH_NAME = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


class Call:
    """One call, from targets to the answer."""

    def __init__(self, dialect: Native, args: NativeArgs, engine: Engine, context: CallContext) -> None:
        self.dialect = dialect
        self.args = args
        self.engine = engine
        self.context = context
        self.max_chars = max(LEAST_CHARS, args.budget * CHARS_PER_TOKEN)
        self._suggestions = Suggestions(engine, context)

    def reply(self) -> Reply:
        parts = self._parts()
        needs = [part.need() for part in parts]
        shares = shared(needs, self.args.budget, [tokens.estimate(part.selector) + 1 for part in parts])
        shown = [self._shown(part, share) for part, share in zip(parts, shares, strict=True) if share]
        left = [selector for one in shown for selector in one.left]
        left += [part.selector for part, share in zip(parts, shares, strict=True) if not share]
        text = "\n".join([one.text for one in shown])
        if left:
            text += "\n" + "\n".join([f"left out, over the budget of {self.args.budget}:", *left])
        structured: dict[str, Any] = {
            "parts": [one.facts for one in shown],
            "tokens": tokens.estimate(text),
            "budget": self.args.budget,
        }
        if left:
            structured["left_out"] = left
        if any("changed_during_read" in one.facts for one in shown):
            structured["changed_during_read"] = True
        failed = shown[0].error if all(one.error is not None for one in shown) else None
        error = None if failed is None else ReplyError(failed.code, text)
        blocks = [block for one in shown for block in one.blocks]
        return Reply((TextContent(text), *blocks), None if error is not None else structured, error)

    # --- from targets to parts -------------------------------------------------------------------------------------

    def _shown(self, part: Part, share: int) -> Shown:
        self.context.check()
        return part.show(share)

    def _parts(self) -> list[Part]:
        parts: list[Part] = []
        texts: dict[tuple[str, str], TextFile] = {}
        for ask in self.args.asks:
            try:
                part = self._part(ask)
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError as error:
                part = Failure(ask.written, error, getattr(error, "suggestions", ()))
            if isinstance(part, TextFile):
                known = texts.setdefault(part.key, part)
                if known is not part:
                    known.add(part)
                    continue
            parts.append(part)
        return [self._loaded(part) for part in parts]

    def _loaded(self, part: Part) -> Part:
        self.context.check()
        if isinstance(part, TextFile):
            try:
                part.load()
            except (errors.Cancelled, errors.TimedOut):
                raise
            except errors.ReadError as error:
                return Failure(part.selector, error)
        return part

    def _part(self, ask: Ask) -> Part:
        """What an ask means: the first of its readings whose file is there.

        Raises: ReadError.
        """
        missing: ReadError = errors.NotFound(ask.written)
        inside: ReadError | None = None
        for target in ask.readings:
            try:
                return self.resolved(target)
            except (errors.NoMember, errors.NoRevision) as error:
                # A missing name with an @ in it is no question about the past.
                if inside is None and (isinstance(error, errors.NoMember) or self._suggestions.is_there(target.path)):
                    inside = error
            except (errors.SystemFailure, errors.InvalidPath) as error:
                # Text with a long selector is no name that a file could have.
                if isinstance(error, errors.SystemFailure) and error.errno not in NO_SUCH_NAME:
                    raise
                missing = error
        return self._miss(ask, missing) if inside is None else Failure(ask.written, inside)

    def _miss(self, ask: Ask, missing: ReadError) -> Part:
        """The file that looks exactly like the one named, or else what is near.

        A name that differs only in what cannot be seen is opened: nobody could type the difference.
        """
        paths = list(dict.fromkeys([target.path for target in ask.readings if not target.revision]))[:MAX_TRIED]
        for path in paths:
            found = self._suggestions.alike(path)
            if found is not None:
                target = next(target for target in ask.readings if target.path == path)
                real = Target(found, target.piece, target.member, target.revision)
                return self.resolved(real, note=f"the name as asked has other characters: {differing(path, found)}")
        # Of several readings the one that a person would mean: with the selector taken off.
        likely = [t.path for t in ask.readings[1:] if isinstance(t.piece, (Ranges, Symbol)) and not t.member]
        return Failure(ask.written, missing, self._suggestions.near([*likely, *paths][0]))

    def resolved(self, target: Target, note: str = "") -> Part:
        """Raises: ReadError."""
        try:
            document = self.engine.look(self.request(target), self.context)
        except errors.NotRegular as error:
            if error.what != "directory" or target.member or target.revision:
                raise
            return Folder(target, self.engine.list(target.path, self.context))
        if document.kind == "binary":
            raise errors.Binary(target.path)
        if document.kind != "text":
            from eyespan.dialects.native.documents import open_document

            return open_document(self, target, document, note)
        return self._text(target, document, note)

    def _text(self, target: Target, document: Document, note: str) -> Part:
        piece = target.piece
        file = TextFile(self, Target(target.path, None, target.member, target.revision), document.facts, note)
        if self.args.outline and not isinstance(piece, (Symbol, Ranges)):
            return OutlineOnly(file)
        match piece:
            case None:
                file.want(())
            case Ranges(ranges):
                file.want(ranges)
            case Symbol(name) | Named(name, ()):
                file.want_symbol(name)
            case _:
                raise no_such_part(target.path, piece, document.kind)
        return file

    def request(
        self,
        target: Target,
        selection: Selection | None = None,
        total: str = CHEAP_TOTAL,
        documents: frozenset[str] = DOCUMENTS,
    ) -> ReadRequest:
        return ReadRequest(
            target.path,
            selection or CharRange(),
            text_rule=NUL_IS_BINARY,
            documents=documents,
            options=_options(target.piece),
            encoding=self.dialect.encoding or "auto",
            total=total,
            member=target.member,
            revision=target.revision,
        )

    def read(self, target: Target, selection: Selection, total: str = CHEAP_TOTAL) -> tuple[TextPart, Document]:
        """Text of a file, or of a document that was made text. Raises: ReadError."""
        document = self.engine.read(self.request(target, selection, total), self.context)
        part: Any = document.parts[0]
        if not isinstance(part, TextPart):
            raise errors.Binary(target.path, kind=document.kind)
        return part, document


def shared(needs: Sequence[int], budget: int, names: Sequence[int]) -> list[int]:
    """What each part gets of the budget: all it needs where that is little, an equal share of the rest otherwise.

    0 is a part that is left out, from the end, where the shares would become too small to be of use; `names` is what
    naming it costs then.
    """
    if sum(needs) <= budget:
        return list(needs)
    kept = len(needs)
    left = budget - 12  # the line above the names of what is left out
    while kept > 1 and (left - sum(names[kept:])) // kept < min(LEAST_SHARE, max(needs[:kept])):
        kept -= 1
    left -= sum(names[kept:])
    shares = [0] * len(needs)
    for done, at in enumerate(sorted(range(kept), key=lambda at: needs[at])):
        shares[at] = max(1, min(needs[at], left // (kept - done)))
        left -= shares[at]
    return shares


def _options(piece: Piece | None) -> dict[str, Any]:
    """What of a piece the readers of documents understand."""
    match piece:
        case Area(sheet, cells):
            return {"sheet": sheet or None, "range": cells}
        case Named(name):
            return {"sheet": name, "table": name}
    return {}
