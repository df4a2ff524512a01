"""One call of the native tool: targets become items, items share the budget, what is left out gets its selector.

Each file is opened once for the whole call, so that all pieces of it come from one version.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from eyespan import errors, kinds, plugins, tokens
from eyespan.context import CallContext
from eyespan.dialects.native import own_lines
from eyespan.dialects.native.items import (
    LEAST_SHARED_CHARS,
    MAX_SCALE,
    NotedItem,
    RowsItem,
    View,
    directory_item,
    failure,
    image_tokens,
)
from eyespan.dialects.native.rows import shared
from eyespan.dialects.native.text import FileText
from eyespan.dialects.native.text_items import TextItem, TextPlan, make_item
from eyespan.dialects.native.wanted import WHOLE, Wanted, want_ranges
from eyespan.dialects.pieces import enclosing_ranges, no_such_part, symbol_ranges
from eyespan.dialects.suggestions import Suggestions
from eyespan.engine import Engine
from eyespan.model import (
    NUL_IS_BINARY,
    ArchiveOptions,
    DocumentOptions,
    ReadRequest,
    Reply,
    ReplyError,
    Tail,
    TextContent,
)
from eyespan.opened import Opened
from eyespan.readers.text import is_count_costly
from eyespan.selectors import Enclosing, Named, Place, Ranges, SymbolPiece, Target, resolve, write_target

if TYPE_CHECKING:
    from eyespan.dialects.native import Native
    from eyespan.dialects.native.arguments import Ask, NativeArgs
    from eyespan.dialects.native.items import Item, Shown


CHARS_PER_TOKEN = 8
"""The characters that are read for each token of the budget; cheaper text is read on in another call."""
LEAST_CHARS = 16 * 1024
MAX_TRIES = 5
FULL = 0.975
"""An answer uses at least this share of the budget, if more could be shown."""
AIM = 0.992
LEAST_SHARE = 60
"""An item that would get less beside two mentions of its name is left out, unless it is the first."""


def answer(dialect: Native, args: NativeArgs, engine: Engine, context: CallContext) -> Reply:
    """Answer one call. Raises: Cancelled, TimedOut."""
    remembers = dialect.remembers and not args.fresh
    view = View(
        style=dialect.style,
        budget=MAX_SCALE * args.budget,
        max_chars=max(LEAST_CHARS, args.budget * CHARS_PER_TOKEN),
        known={} if args.fresh else {**dict.fromkeys(dialect.holdings.hashes() if remembers else (), ()), **args.known},
        holdings=dialect.holdings,
        redacts=dialect.redact,
        remembers=remembers,
        around_match=2 if args.context is None else args.context,
        folds=dialect.folds,
        folds_symbols=dialect.folds and not args.has_budget,
    )
    documents = dialect.all_documents if args.document else dialect.documents
    with Files(engine, context, dialect, documents) as files:
        plans = [plan for ask in args.asks for plan in _plan_ask(ask, args, view, files)]
        items = _items(plans, view, context)
        needs = [item.need() for item in items]
        reply, shown = _show_counted(items, needs, args, context)
    for one in shown if dialect.host.admits(reply) else ():  # else a shorter answer follows
        if one.seen is not None:
            dialect.holdings.add(*one.seen)
        elif "hash" in one.facts:
            dialect.holdings.add_hash(one.facts["hash"])
    return reply


def _show(
    items: Sequence[Item], needs: Sequence[int], args: NativeArgs, max_tokens: int, context: CallContext
) -> tuple[Reply, list[Shown]]:
    """Return as much of the items as `max_tokens` allow, by the estimate."""
    shares = needs
    if sum(needs) > max_tokens:
        shares = share(needs, max_tokens, [tokens.estimate(item.selector) + 1 for item in items])
    shown = []
    left_out = []
    for item, tokens_left in zip(items, shares, strict=True):
        context.check()
        if tokens_left:
            shown.append(item.show(tokens_left))
        else:
            left_out.append(item.selector)
    left = [*[selector for one in shown for selector in one.left], *left_out]
    return _reply(shown, left, args.budget, "outlines " if args.outline else ""), shown


def _show_counted(
    items: Sequence[Item], needs: Sequence[int], args: NativeArgs, context: CallContext
) -> tuple[Reply, list[Shown]]:
    """Return as much of the items as the budget allows.

    The cost of the parts decides what is shown. The cost of the whole answer then corrects the tokens that the parts
    may spend.
    """
    budget = args.budget
    max_tokens = budget
    best, best_cost, cost = None, 0, 0
    best_shown: list[Shown] = []
    for _ in range(MAX_TRIES):
        reply, shown = _show(items, needs, args, max_tokens, context)
        cost_before, cost = cost, tokens.estimate(reply.text) + image_tokens(reply.content)
        is_better = best_cost < cost <= budget or (best_cost > budget and cost < best_cost)
        if best is None or is_better:
            best, best_cost, best_shown = reply, cost, shown
        is_whole = sum(needs) <= max_tokens or "left_out" not in (reply.structured or {})
        if cost <= budget and (is_whole or cost == cost_before or cost >= FULL * budget):
            break
        max_tokens = max(1, min(int(max_tokens * AIM * budget / cost), MAX_SCALE * budget))
    assert best is not None
    if best.structured is not None:
        best.structured["tokens"] = best_cost
    return replace(best, measures={**best.measures, "tokens": best_cost}), best_shown


def _reply(shown: Sequence[Shown], left: Sequence[str], budget: int, noun: str) -> Reply:
    lines = [line for one in shown for line in one.lines]
    if left:
        lines += [own_lines.words(f"{noun}left out, over the budget of {budget}:"), *map(own_lines.entry, left)]
    left = [*left, *[selector for one in shown for selector in one.folded]]
    text = own_lines.write(lines)
    structured: dict[str, Any] = {"parts": [one.facts for one in shown], "tokens": 0, "budget": budget}
    measures: dict[str, Any] = {"lines": sum([one.facts.get("lines", 0) for one in shown])}
    if left:
        structured["left_out"] = left
        measures["left_out"] = list(left)
    if [one for one in shown if "changed_during_read" in one.facts]:
        structured["changed_during_read"] = True
    has_failed = not left and None not in [one.error for one in shown]
    failed = shown[0].error if has_failed else None
    error = None if failed is None else ReplyError(failed.code, text)
    blocks = [block for one in shown for block in one.blocks]
    return Reply((TextContent(text), *blocks), None if error is not None else structured, error, (), measures)


class Files:
    """The files of one call, each opened once and closed at its end."""

    def __init__(self, engine: Engine, context: CallContext, dialect: Native, documents: frozenset[str]) -> None:
        self.engine = engine
        self.context = context
        self.suggestions = Suggestions(engine, context)
        self._encoding = dialect.encoding or "auto"
        self._documents = documents
        self._opened: dict[tuple[str, str, str], Opened] = {}

    def open(self, target: Target) -> Opened:
        """Open the file of a target, or return it if it is open already. Raises: ReadError."""
        key = (target.path, target.member, target.revision)
        if key not in self._opened:
            request = ReadRequest(
                target.path,
                text_rule=NUL_IS_BINARY,
                documents=self._documents,
                encoding=self._encoding,
                member=target.member,
                revision=target.revision,
            )
            self._opened[key] = self.engine.open(request, self.context)
        return self._opened[key]

    def close(self, opened: Opened) -> None:
        """Close a file early: nothing more is read from it."""
        request = opened.request
        del self._opened[request.path, request.member, request.revision]
        opened.close()

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        opened, self._opened = self._opened, {}
        for one in opened.values():
            one.close()


# --- from targets to items -------------------------------------------------------------------------------------------


def _plan_ask(ask: Ask, args: NativeArgs, view: View, files: Files) -> list[Item | TextPlan]:
    """Return the item of a target or the plan of its text, the first with the note of the target.

    Raises: Cancelled, TimedOut.
    """
    first, *others = _plan_readings(ask, args, view, files)
    return [noted(first, ask.note) if ask.note else first, *others]


def noted(plan: Item | TextPlan, note: str) -> Item | TextPlan:
    """Return a plan with a note about it."""
    if isinstance(plan, TextPlan):
        return replace(plan, wanted=replace(plan.wanted, notes=(note, *plan.wanted.notes)))
    return NotedItem(plan, note)


def _plan_readings(ask: Ask, args: NativeArgs, view: View, files: Files) -> Sequence[Item | TextPlan]:
    """Return the plans of what a target is read as; a failure is an item, too. A pasted text may name several."""

    def take(target: Target) -> Item | TextPlan:
        before_bytes = files.context.memory.loan_start()
        try:
            return _plan(target, args, view, files)
        except errors.ReadError as error:
            files.context.memory.end_loan(before_bytes)
            error.__context__ = None
            raise error.with_traceback(None) from None  # its frames hold what was read, such as the names in an archive

    try:
        return [resolve(ask.readings, take, lambda path: files.suggestions.exists(path))]
    except (errors.Cancelled, errors.TimedOut):
        raise
    except (errors.StoreFailure, errors.Changed) as error:
        return [failure(ask.written, error)]  # the name is right
    except errors.ReadError as error:
        exact = error

    def take_meant(target: Target) -> Item | TextPlan:
        plan = take(target)
        if isinstance(plan, RowsItem) and plan.facts.get("kind") == "directory" and target.piece is not None:
            raise errors.NotRegular(target.path, what="directory")
        return plan

    try:
        if all(_is_glob(target.path) for target in ask.readings):
            return [failure(ask.written, exact)]  # no file matches the pattern
        forgive = plugins.load(plugins.own("FORGIVE")[0])
        target = ask.readings[0] if ask.is_object else None
        found, note = forgive(ask.written, exact, take_meant, files.suggestions, target)
        (_, first), *others = found
        return [noted(first, note), *[plan for _, plan in others]]
    except (errors.Cancelled, errors.TimedOut):
        raise
    except errors.ReadError as error:
        return [failure(ask.written, error, args.budget // 2 // len(args.asks))]
    finally:
        del exact  # it refers to this frame, which would keep it, and with it every buffer of the read


def _plan(target: Target, args: NativeArgs, view: View, files: Files) -> Item | TextPlan:
    """Return the item of a target or the plan of its text. Raises: ReadError."""
    if target.pattern:
        return _plan_search(target, args, view, files)
    if ".." in target.revision:
        from eyespan.dialects.native.documents import plan_difference

        return plan_difference(target, files.open)
    try:
        opened = files.open(target)
    except errors.NotRegular as error:
        if error.what != "directory" or target.member or target.revision:
            raise
        if args.outline:
            return _plan_map(target, view, files)
        return directory_item(target, files.engine.list(target.path, files.context), view, files.context)
    except errors.NotFound:
        if not _is_glob(target.path) or target.member or target.revision:
            raise
        only = None if target.piece is None else _only_match(target.path, files)
        if only is not None:
            return noted(_plan(replace(target, path=only), args, view, files), f"the only file of {target.path}")
        if not isinstance(target.piece, Ranges | None):
            part = "parts; ?word searches its files"
            several = errors.NoSuchPart(target.path, document="a pattern of several files", part=part)
            return failure(write_target(target), several)
        return _plan_map(target, view, files)
    if opened.kind is kinds.BINARY:
        raise errors.Binary(target.path)
    if opened.kind is not kinds.TEXT:
        from eyespan.dialects.native.documents import plan_document

        return plan_document(opened, target, view, is_outline=args.outline)
    return _plan_text(opened, target, args, view)


def _is_glob(path: str) -> bool:
    """Return True if a path has wildcards. A message with a star, and a path in bold letters, are no patterns."""
    is_bold = path.startswith("**") and path[2:3] not in ("", "/", "*")
    return "*" in path and not is_bold and " " not in path and "\n" not in path


def _only_match(path: str, files: Files) -> str | None:
    """Return the only file that a pattern matches; None for several. Raises: ReadError."""
    from eyespan.dialects.native import searches

    matches = searches.files_below(path, files.engine, files.context, [], is_pattern=True)
    found = next(matches, None)
    return found.path if found is not None and next(matches, None) is None else None


def _plan_map(target: Target, view: View, files: Files) -> Item:
    """Return the map of a directory or of the files that a pattern matches. Raises: ReadError."""
    found: Item = plugins.load(plugins.own("MAPS")[0])(target, view, files.engine, files.context)
    return found


def _plan_search(target: Target, args: NativeArgs, view: View, files: Files) -> Item | TextPlan:
    """Return the plan of the lines that match the pattern of a target, or an item of many files. Raises: ReadError."""
    from eyespan.dialects.native import searches

    bare = replace(target, pattern="")
    if ".." in target.revision:
        raise errors.NoSuchPart(target.path, document="a difference", part="search")
    search = searches.compile_search(target.pattern, files.context)
    unread: list[str] = []
    try:
        opened = files.open(bare)
    except errors.NotRegular as error:
        if error.what != "directory" or bare != Target(target.path, bare.piece):
            raise
        below = partial(searches.files_below, target.path, files.engine, files.context, unread)
        return searches.search_many(bare, below, search, view, files, unread)
    except errors.NotFound:
        if "*" not in target.path or bare != Target(target.path, bare.piece):
            raise
        like = partial(searches.files_below, target.path, files.engine, files.context, unread, is_pattern=True)
        if ":" in target.path and next(like(), None) is None:
            raise  # the part after the colon is a selector
        return searches.search_many(bare, like, search, view, files, unread)
    if opened.kind.name == "archive" and bare.piece is None:
        document = opened.read(options=DocumentOptions(archive=ArchiveOptions(searches.MAX_MEMBERS)))
        members = partial(searches.members_of, bare, document)
        notes = searches.notes_on_members(document)
        return searches.search_many(bare, members, search, view, files, unread, notes)
    if opened.kind.layout == "pages":
        from eyespan.dialects.native.documents import search_pages

        return search_pages(opened, bare, search, view)
    whole = replace(view, folds=False)  # of a long log too
    plan = _plan(bare, replace(args, outline=False), whole, files)
    if not isinstance(plan, TextPlan):
        raise no_such_part(target.path, opened.kind, Ranges(()))
    found = searches.search_text(plan, search, view, view.max_chars)
    if isinstance(found, TextPlan):
        return found
    if not found:
        return searches.no_match(target, search)
    last = plan.wanted.ranges[-1].last if plan.wanted.ranges else None
    following = f"{write_target(plan.target)}:{found}-{'' if last is None else last}?{target.pattern}"
    return searches.no_match(target, search, f"no line before {found} matches", following)


def _plan_text(opened: Opened, target: Target, args: NativeArgs, view: View) -> Item | TextPlan:
    piece = target.piece
    bare = target if piece is None else replace(target, piece=None)
    text = FileText(opened)
    if args.outline:
        from eyespan.dialects.native.outline_items import outline_item

        return outline_item(text, target, view)
    match piece:
        case None:
            from eyespan.dialects.native.logs import want_log

            wanted = want_log(text, view) or WHOLE
        case Ranges((Tail(count),)) if (tail := _plan_tail(text, bare, count, view)) is not None:
            return tail
        case Ranges(ranges):
            wanted = want_ranges(text, ranges)
        case SymbolPiece(name) | Named(name, ()):
            found, full_name, notes = symbol_ranges(opened, name, write_target(bare))
            wanted = Wanted(found, symbol=full_name, notes=notes)
        case Enclosing(ranges):
            found, full_name, notes = enclosing_ranges(opened, ranges, write_target(bare))
            asked = tuple(
                [one.line if isinstance(one, Place) else one.first for one in ranges if not isinstance(one, Tail)]
            )
            wanted = Wanted(found, symbol=full_name, lines=asked, notes=notes)
        case _:
            raise no_such_part(target.path, opened.kind, piece)
    return TextPlan(bare, text, wanted, view.style)


def _plan_tail(text: FileText, target: Target, count: int, view: View) -> Item | None:
    """Return the last lines without numbers if only a store with all of the file could number them; None otherwise.

    Raises: ReadError.
    """
    if not text.opened.source.is_version:
        return None
    from eyespan.dialects.native.tail_items import TailItem

    if not is_count_costly(text.opened):
        return None
    try:
        return TailItem(text, target, count, view)
    except errors.WindowTooLarge:
        return None


def _items(plans: Sequence[Item | TextPlan], view: View, context: CallContext) -> list[Item]:
    """Read the planned texts; plans of the same text become one item, at the place of the first.

    Raises: Cancelled, TimedOut.
    """
    groups: dict[Hashable, list[TextPlan]] = {}
    ordered: list[Item | list[TextPlan]] = []
    for plan in plans:
        if not isinstance(plan, TextPlan):
            ordered.append(plan)
            continue
        group = groups.setdefault(plan.key, [])
        if not group:
            ordered.append(group)
        group.append(plan)
    texts = iter(_text_items(list(groups.values()), view, context))
    return [next(texts) if isinstance(entry, list) else entry for entry in ordered]


def _text_items(groups: Sequence[Sequence[TextPlan]], view: View, context: CallContext) -> list[Item]:
    """Read each text as far as its share of the budget could show it. What short texts leave goes to the others.

    Raises: Cancelled, TimedOut.
    """
    items: dict[int, Item] = {}
    charged_bytes = dict.fromkeys(range(len(groups)), 0)
    max_chars = 0
    cut = list(range(len(groups)))
    while cut:
        before_chars, max_chars = max_chars, min(view.max_chars, max(LEAST_SHARED_CHARS, view.max_chars // len(cut)))
        if max_chars == before_chars:
            break
        for at in cut:
            items.pop(at, None)
            context.memory.refund(charged_bytes[at])
            before_bytes = context.memory.loan_start()
            items[at] = _text_item(groups[at], view, max_chars)
            charged_bytes[at] = context.memory.loan_start() - before_bytes
        cut = [at for at in cut if isinstance(item := items[at], TextItem) and item.is_cut]
    return [items[at] for at in range(len(groups))]


def _text_item(plans: Sequence[TextPlan], view: View, max_chars: int) -> Item:
    try:
        return make_item(plans, view, max_chars)
    except (errors.Cancelled, errors.TimedOut):
        raise
    except errors.ReadError as error:
        return failure(plans[0].selector, error)


# --- the budget ------------------------------------------------------------------------------------------------------


def share(needs: Sequence[int], budget: int, names: Sequence[int]) -> list[int]:
    """Return the share of each item of a budget that does not hold all of them.

    An item gets all it needs where that is little, and an equal part of the rest otherwise.

    An item with the share 0 is left out, from the end, because its share would be too small to be of use; `names` are
    the costs of naming the items.
    """
    kept = len(needs)
    left = budget - 12  # the line above the names of what is left out
    while kept > 1 and (left - sum(names[kept:])) // kept < min(LEAST_SHARE + 2 * max(names), max(needs[:kept])):
        kept -= 1
    return [*shared(needs[:kept], left - sum(names[kept:])), *[0] * (len(needs) - kept)]
