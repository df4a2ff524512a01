"""Many files in several processes. At most `max_in_flight` files are read, or wait to be taken, at one time."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
from collections import deque
from concurrent.futures.process import BrokenProcessPool

from eyespan.bulk.reading import MAX_BYTES, Options, failure, read_file
from eyespan.bulk.record import Record
from eyespan.bulk.walk import find_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eyespan.context import CallContext
    from eyespan.errors import ReadError
    from eyespan.workspace import Workspace

    Waiting = tuple[str, concurrent.futures.Future[list[Record]] | None, list[Record] | "Kept"]
    """A path, what will be its records, and what they are."""

MAX_IN_FLIGHT = 64
MIN_TOKENS = 16
"""The smallest limit of a chunk."""
MAX_CRASHES = 2
"""A file during whose reading a process ended this often is given up."""


class Kept:
    """The result of a file that need not be read: it takes its place among those that are."""

    __slots__ = ("lines",)

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines


def read_many(
    workspace: Workspace,
    targets: str | Iterable[str],
    *,
    workers: int = 0,
    ordered: bool = False,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_bytes: int = MAX_BYTES,
    chunk_tokens: int | None = None,
    context: CallContext | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[Record]:
    """Yield the records of all files that paths, directories and patterns name.

    `workers=0` reads in this process, more start so many others. With `ordered` the files come in the order of the
    walk. `max_bytes` limits text and images of one file. `chunk_tokens` cuts texts by structure into chunks of at most
    so many tokens, each with a selector that reads it again. Cancel `context` to stop. `on_progress` is called with the
    number of files that are done. A file that cannot be read is a record with an error, never an exception.
    """
    names = [targets] if isinstance(targets, str) else targets
    if workers < 0 or max_in_flight < 1 or max_bytes < 1:
        raise ValueError("workers must not be negative; max_in_flight and max_bytes must be more than 0")
    if chunk_tokens is not None and chunk_tokens < MIN_TOKENS:
        raise ValueError(f"chunk_tokens must be at least {MIN_TOKENS}, not {chunk_tokens}")
    found = find_files(workspace, names)
    options = Options(max_bytes, chunk_tokens or 0)
    files = read_found(workspace, found, options, workers=workers, ordered=ordered, max_in_flight=max_in_flight)
    return _flat(files, context, on_progress)


def read_found(
    workspace: Workspace,
    found: Iterable[tuple[str, ReadError | Kept | None]],
    options: Options,
    *,
    workers: int = 0,
    ordered: bool = False,
    max_in_flight: int = MAX_IN_FLIGHT,
) -> Iterator[list[Record] | Kept]:
    """Yield the records of each file that a walk has found; what is kept is passed on."""
    if workers:
        return _in_pool(workspace, found, workers, ordered, max_in_flight, options)
    return (read_file(workspace, path, options) if known is None else _result(path, known) for path, known in found)


def _result(path: str, known: ReadError | Kept) -> list[Record] | Kept:
    return known if isinstance(known, Kept) else [failure(path, known)]


def _flat(
    files: Iterator[list[Record] | Kept], context: CallContext | None, on_progress: Callable[[int], None] | None
) -> Iterator[Record]:
    for done, records in enumerate(files, 1):
        if context is not None:
            context.check()
        assert not isinstance(records, Kept)
        yield from records
        if on_progress is not None:
            on_progress(done)


class _Pool:
    """Worker processes that are replaced when one of them ends."""

    def __init__(self, workspace: Workspace, workers: int) -> None:
        self._workspace = workspace
        self._workers = workers
        self._executor = self._start()

    def _start(self) -> concurrent.futures.ProcessPoolExecutor:
        # Not fork: threads of this process may hold locks.
        context = multiprocessing.get_context("spawn")
        return concurrent.futures.ProcessPoolExecutor(
            self._workers, mp_context=context, initializer=_open, initargs=(self._workspace,)
        )

    def submit(self, path: str, options: Options) -> concurrent.futures.Future[list[Record]]:
        try:
            return self._executor.submit(_read_here, path, options)
        except BrokenProcessPool:
            self.restart()
            return self._executor.submit(_read_here, path, options)

    def restart(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self._start()

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


def _in_pool(
    workspace: Workspace,
    found: Iterable[tuple[str, ReadError | Kept | None]],
    workers: int,
    ordered: bool,
    max_in_flight: int,
    options: Options,
) -> Iterator[list[Record] | Kept]:
    pool = _Pool(workspace, workers)
    waiting: deque[Waiting] = deque()
    try:
        for path, known in found:
            if known is None:
                waiting.append((path, pool.submit(path, options), []))
            else:
                waiting.append((path, None, _result(path, known)))
            while len(waiting) >= max_in_flight:
                yield _next(pool, waiting, ordered, options)
        while waiting:
            yield _next(pool, waiting, ordered, options)
    finally:
        pool.close()


def _next(
    pool: _Pool,
    waiting: deque[Waiting],
    ordered: bool,
    options: Options,
) -> list[Record] | Kept:
    """Return the records of the first file, or of any that is done; read those again that a crash has lost."""
    if not ordered:
        futures = [future for _, future, _ in waiting if future is not None]
        if futures and len(futures) == len(waiting):
            concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_COMPLETED)
        for place, (_, future, _) in enumerate(waiting):
            if future is None or future.done():
                waiting.rotate(-place)
                break
    path, future, records = waiting.popleft()
    if future is None:
        return records
    try:
        return future.result()
    except BrokenProcessPool:
        pool.restart()
    # One of the files in flight ended a process, and it is not known which. Each is read again alone.
    again = _alone(pool, path, options)
    for place, (name, one, _) in enumerate(waiting):
        if one is not None and not _is_good(one):
            waiting[place] = (name, None, _alone(pool, name, options))
    return again


def _is_good(future: concurrent.futures.Future[list[Record]]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _alone(pool: _Pool, path: str, options: Options) -> list[Record]:
    for _ in range(MAX_CRASHES):
        try:
            return pool.submit(path, options).result()
        except (BrokenProcessPool, concurrent.futures.CancelledError):
            pool.restart()
    message = "the process that read it ended; the file was given up"
    return [Record(path, selector=path, error_code="crash", error_message=message)]


_workspace: Workspace | None = None


def _open(workspace: Workspace) -> None:
    global _workspace
    _workspace = workspace


def _read_here(path: str, options: Options) -> list[Record]:
    assert _workspace is not None
    return read_file(_workspace, path, options)
