"""A tool: a dialect joined to an engine. Hosts call it."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from eyespan import plugins
from eyespan.context import CallContext, WouldBlock
from eyespan.dialects.base import Dialect
from eyespan.dialects.path_map import PathMap
from eyespan.dialects.suggestions import suggested
from eyespan.engine import Engine
from eyespan.errors import UNLOADED, BadArguments, Internal, PolicyDenied, ReadError, log_failure, short_of
from eyespan.escape import valid_text, valid_tree
from eyespan.model import ReadRequest, Reply, ReplyError, TextContent, ToolSpec
from eyespan.outline.render import render

if TYPE_CHECKING:
    from eyespan.workspace import Workspace

NO_MAP = PathMap({})


class Tool:
    """One read tool in one dialect over one workspace.

    A pickled tool holds its dialect with the settings given to it and its workspace, which opens its roots again where
    it is unpickled. The memory of a dialect between calls is not part of it.
    """

    def __init__(self, dialect: Dialect, engine: Engine, *, workspace: Workspace | None = None) -> None:
        self.dialect = dialect
        self.engine = engine
        self.workspace = workspace
        """The workspace that made the tool; None if it was made of an engine alone."""
        self.path_map = NO_MAP if workspace is None else workspace.path_map

    @property
    def spec(self) -> ToolSpec:
        """Return name, aliases, description and schema, in the words of the dialect's document."""
        return self.dialect.spec

    def call(self, arguments: Any, *, context: CallContext | None = None) -> Reply:
        """Answer one call. Never raises for anything that a file, a path or an argument can do.

        `context` lets another thread cancel the read or watch its progress; its deadline replaces the workspace's.

        Raises: WouldBlock, if `context.may_block` is False and the read may wait for a file system.
        """
        dialect = self.dialect
        if context is None:
            context = CallContext(self.engine.deadline_seconds)
        try:
            if not dialect.allowed:
                raise PolicyDenied("")
            reply = self._run(arguments, context)
        except BadArguments as error:
            return self._failed(ReplyError(error.code, error.message))
        except ReadError as error:
            return self._reply_to(error, context)
        except (Exception, RecursionError) as error:
            return self._reply_to_unexpected(error)
        finally:
            context.finish()
        if context.store_requests:
            counts = {"store_requests": context.store_requests, "store_bytes": context.store_bytes}
            reply = replace(reply, measures={**reply.measures, **counts})
        return _with_valid_text(reply)

    def _run(self, arguments: Any, context: CallContext) -> Reply:
        """Answer as the dialect does, and then as the host's settings have it. Raises: BadArguments, ReadError."""
        dialect = self.dialect
        if not dialect.host.acts:
            return self._run_dialect(arguments, context)
        run = partial(self._run_dialect, context=context)
        settled = plugins.load(plugins.own("SETTLED")[0])
        reply: Reply = settled(dialect, arguments, run, partial(self._structure, context=context))
        return reply

    def _run_dialect(self, arguments: Any, context: CallContext) -> Reply:
        path_map = self.path_map
        reply = self.dialect.run(path_map.arguments(arguments) if path_map else arguments, self.engine, context)
        if not isinstance(reply, Reply):
            raise TypeError("run() returned no Reply")
        return path_map.reply(reply, self.dialect.own_paths) if path_map else reply

    def _structure(self, path: str, max_tokens: int, context: CallContext) -> str:
        """Return a text with the symbols of a file and their lines, as far as they fit; "" if it has none."""
        with suppress(ReadError), self.engine.open(ReadRequest(self.path_map.inward(path)), context) as opened:
            symbols = render(opened.outline(is_courtesy=True), max_tokens)
            return symbols and f"The file defines:\n{symbols}"
        return ""

    def _reply_to(self, error: ReadError, context: CallContext) -> Reply:
        reply = self.error_reply(error)
        if reply.error is None:
            return reply
        return self._failed(suggested(self.dialect, error, reply.error, self.engine, context))

    def error_reply(self, error: ReadError) -> Reply:
        """Return the reply to a read that failed."""
        try:
            return self._failed(self.dialect.render_error(error))
        except Exception as failure:  # of a dialect that is not part of eyespan
            log_failure(failure)
            return self._failed(ReplyError(error.code, str(error)))

    def _reply_to_unexpected(self, error: BaseException) -> Reply:
        """Return the reply to an error that no read raises: a module that cannot be loaded, or a bug of eyespan."""
        failure: ReadError | None = short_of(error, "")
        if failure is None or isinstance(error, MemoryError):
            log_failure(error)
        if failure is None:
            fault = f"an internal error of {self._culprit(error)} ({type(error).__name__}); the log has the details"
            failure = Internal("", fault)
        return self.error_reply(failure)

    def _culprit(self, error: BaseException) -> str:
        """Return whose bug an exception is: a plugin's that it passed through, a foreign dialect's, or eyespan's."""
        if origin := plugins.origin_of(error):
            return f"the plugin {origin}"
        module = type(self.dialect).__module__
        return "eyespan" if module.startswith("eyespan.") else f"the dialect {self.dialect.name} ({module})"

    def _failed(self, error: ReplyError) -> Reply:
        error = ReplyError(error.code, valid_text(self.path_map.outward(error.message)))
        return Reply((TextContent(error.message),), None, error)

    def changed(self) -> list[str]:
        """Return selectors of the lines that this tool has shown and that are no longer so, such as `a.py:12-14`.

        Lines have the numbers under which they were shown. A file that cannot be read any more is named without lines.
        Raises: TypeError for a dialect that does not remember; `native` does.
        """
        changed = plugins.load(plugins.own("CHANGED")[0])(self.dialect, self.engine)
        return [self.path_map.outward(one) for one in changed]

    def unseen(self, path: str, first: int, last: int) -> list[str]:
        """Return selectors of those lines of a file that this tool has never shown; [] if it has shown all of them.

        Raises: ReadError; TypeError for a dialect that does not remember; `native` does.
        """
        path = self.path_map.inward(path)
        unseen = plugins.load(plugins.own("UNSEEN")[0])(self.dialect, self.engine, path, first, last)
        return [self.path_map.outward(one) for one in unseen]

    async def acall(self, arguments: Any) -> Reply:
        """Answer one call off the event loop. Cancelling the task stops the read at its next block."""
        import asyncio

        context = CallContext(self.engine.deadline_seconds, may_block=False)
        try:
            try:
                return await asyncio.to_thread(self.call, arguments, context=context)
            except WouldBlock:
                # to_thread has few threads and everything shares them, so a read that may wait gets its own.
                context.may_block = True
                return await _in_own_thread(lambda: self.call(arguments, context=context))
        except asyncio.CancelledError:
            context.cancelled = True
            raise
        except UNLOADED as error:
            return self._reply_to_unexpected(error)  # to_thread loads its modules when the first thread starts

    def __reduce__(self) -> tuple[Any, ...]:
        if self.workspace is None:
            return Tool, (self.dialect, self.engine)
        return _tool_of, (self.workspace, self.dialect)

    def __repr__(self) -> str:
        return f"Tool({self.dialect.name!r})"


class Toolset(tuple[Tool, ...]):
    """The tools of one dialect, in the order in which it lists them."""

    __slots__ = ()

    def named(self, name: str) -> Tool:
        """Return the tool of this name or alias. Raises: KeyError."""
        for tool in self:
            if name == tool.spec.name or name in tool.spec.aliases:
                return tool
        raise KeyError(name)


def _tool_of(workspace: Workspace, dialect: Dialect) -> Tool:
    dialect.set_roots([workspace.path_map.outward(root.path) for root in workspace.roots])
    return Tool(dialect, workspace.engine, workspace=workspace)


async def _in_own_thread(work: Callable[[], Reply]) -> Reply:
    import asyncio

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Reply] = loop.create_future()

    def deliver(reply: Reply) -> None:
        if not answer.done():
            answer.set_result(reply)

    def run() -> None:
        reply = work()
        try:
            loop.call_soon_threadsafe(deliver, reply)
        except RuntimeError:
            pass  # the loop is closed, so nothing waits for the reply

    start_new_thread(run, ())
    return await answer


def _with_valid_text(reply: Reply) -> Reply:
    """Return the reply with every string in valid UTF-8: one lone surrogate breaks a JSON server."""
    return Reply(
        tuple([TextContent(valid_text(b.text)) if type(b) is TextContent else b for b in reply.content]),
        valid_tree(reply.structured),
        reply.error and ReplyError(reply.error.code, valid_text(reply.error.message)),
        tuple(map(valid_text, reply.notes)),
        valid_tree(reply.measures),
    )
