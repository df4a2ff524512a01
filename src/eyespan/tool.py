"""A dialect joined to an engine: what a host calls."""

from __future__ import annotations

from eyespan.context import CallContext, WouldBlock
from eyespan.errors import UNLOADED, BadArguments, Internal, PolicyDenied, ReadError, short_of
from eyespan.escape import is_valid, is_valid_tree, valid_text, valid_tree
from eyespan.model import Reply, ReplyError, TextContent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from eyespan.dialects.base import Dialect
    from eyespan.engine import Engine
    from eyespan.model import ToolSpec


class Tool:
    """One read tool in one dialect over one workspace."""

    __slots__ = ("dialect", "engine")

    def __init__(self, dialect: Dialect, engine: Engine) -> None:
        self.dialect = dialect
        self.engine = engine

    @property
    def spec(self) -> ToolSpec:
        """Name, aliases, description and schema, as the dialect's document has them."""
        return self.dialect.spec

    def call(self, arguments: Any, *, context: CallContext | None = None) -> Reply:
        """Answers one call. Never raises for anything that a file, a path or an argument can do.

        `context` lets another thread cancel the read, or watch its progress; its deadline goes before the workspace's.

        Raises: WouldBlock, if the context has no patience.
        """
        dialect = self.dialect
        if context is None:
            context = CallContext(self.engine.deadline_seconds)
        try:
            if not dialect.allowed:
                raise PolicyDenied("")
            reply = dialect.run(arguments, self.engine, context)
        except BadArguments as error:
            return _failed(ReplyError(error.code, error.message))
        except ReadError as error:
            return _failed(dialect.render_error(error))
        except (Exception, RecursionError) as error:
            return self._unforeseen(error)
        return _sound(reply)

    def _unforeseen(self, error: BaseException) -> Reply:
        """What is told of an error that no read has: a module that cannot be loaded now, or a fault of our own."""
        failure: ReadError | None = short_of(error, "")
        if failure is None:
            _log(error)
            fault = f"an internal error of eyespan ({type(error).__name__}); its log has the details"
            failure = Internal("", fault)
        return _failed(self.dialect.render_error(failure))

    async def acall(self, arguments: Any) -> Reply:
        """The same, off the event loop; cancelling the task stops the read at its next block."""
        import asyncio

        context = CallContext(self.engine.deadline_seconds, may_block=False)
        try:
            try:
                return await asyncio.to_thread(self.call, arguments, context=context)
            except WouldBlock:
                # The threads behind to_thread are few and for everybody: none of them is to wait for a file system.
                context.may_block = True
                return await _in_own_thread(lambda: self.call(arguments, context=context))
        except asyncio.CancelledError:
            context.cancelled = True
            raise
        except UNLOADED as error:
            return self._unforeseen(error)  # what makes the threads is loaded when the first is wanted

    def __repr__(self) -> str:
        return f"Tool({self.dialect.name!r})"


async def _in_own_thread(work: Callable[[], Reply]) -> Reply:
    import asyncio
    from _thread import start_new_thread

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Reply] = loop.create_future()

    def tell(reply: Reply) -> None:
        if not answer.done():
            answer.set_result(reply)

    def run() -> None:
        reply = work()
        try:
            loop.call_soon_threadsafe(tell, reply)
        except RuntimeError:
            pass  # the loop is gone, and whoever waited with it

    start_new_thread(run, ())
    return await answer


def _failed(error: ReplyError) -> Reply:
    error = ReplyError(error.code, valid_text(error.message))
    return Reply((TextContent(error.message),), None, error)


def _sound(reply: Reply) -> Reply:
    """The reply as it is, or with every string made valid UTF-8: one lone surrogate kills servers."""
    sound = reply.structured is None or is_valid_tree(reply.structured)
    if reply.error is not None and not is_valid(reply.error.message):
        sound = False
    for block in reply.content:
        if type(block) is TextContent and not is_valid(block.text):
            sound = False
    if sound:
        return reply
    content = tuple([TextContent(valid_text(b.text)) if type(b) is TextContent else b for b in reply.content])
    error = reply.error and ReplyError(reply.error.code, valid_text(reply.error.message))
    return Reply(content, valid_tree(reply.structured), error, tuple(map(valid_text, reply.notes)))


def _log(error: BaseException) -> None:
    try:
        import logging

        logging.getLogger("eyespan").error("internal error", exc_info=error)
    except UNLOADED:
        pass  # it cannot be loaded now; the answer tells what went wrong all the same
