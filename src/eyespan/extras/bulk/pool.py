"""Many files in several processes. At most `max_in_flight` files are read, or wait to be taken, at one time."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from eyespan.context import CallContext
from eyespan.errors import ReadError
from eyespan.extras.bulk.reading import MAX_BYTES, Options, failure, read_file, valid_record
from eyespan.extras.bulk.record import Record
from eyespan.extras.bulk.walk import find_files
from eyespan.extras.bulk.worker import FILES_AT_ONCE, BulkWorker, Ended

if TYPE_CHECKING:
    from eyespan.workspace import Workspace


MAX_IN_FLIGHT = 64
MIN_TOKENS = 16
"""The smallest limit of a chunk."""
MAX_CRASHES = 2
"""A file during whose reading a process ended this often is given up."""


@dataclass(slots=True)
class Kept:
    """The result of a file that need not be read: it takes its place among those that are."""

    lines: list[bytes]


FoundOrKept = tuple[str, ReadError | Kept | None]


def read_many(
    workspace: Workspace,
    targets: str | Iterable[str],
    *,
    workers: int = 0,
    ordered: bool = False,
    max_in_flight: int = MAX_IN_FLIGHT,
    max_bytes: int = MAX_BYTES,
    chunk_tokens: int | None = None,
    document: bool = False,
    exclude: Iterable[str] = (),
    context: CallContext | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[Record]:
    """Yield the records of all files that paths, directories and patterns name.

    `workers=0` reads in this process, more start so many others. With `ordered` the files come in the order of the
    walk. `max_bytes` limits text and images of one file. `chunk_tokens` cuts texts by structure into chunks of at most
    so many tokens, each with a selector that reads it again. `document` reads web pages and mailboxes as documents, not
    as their source. `exclude` are patterns of names that are left out, as those of deny rules. Cancel `context` to
    stop. `on_progress` is called with the number of files that are done. A file that cannot be read is a record with an
    error, never an exception.

    Raises: ChildProcessError, while it yields, if a process cannot be started.
    """
    names = [targets] if isinstance(targets, str) else targets
    if workers < 0 or max_in_flight < 1 or max_bytes < 1:
        raise ValueError("workers must not be negative; max_in_flight and max_bytes must be more than 0")
    if chunk_tokens is not None and chunk_tokens < MIN_TOKENS:
        raise ValueError(f"chunk_tokens must be at least {MIN_TOKENS}, not {chunk_tokens}")
    workspace = workspace.excluding(exclude)
    found = ((path, error) for path, error, _ in find_files(workspace, names))
    options = Options(max_bytes, chunk_tokens or 0, document)
    files = read_found(workspace, found, options, workers=workers, ordered=ordered, max_in_flight=max_in_flight)
    return _flat(files, context, on_progress)


def read_found(
    workspace: Workspace,
    found: Iterable[FoundOrKept],
    options: Options,
    *,
    workers: int = 0,
    ordered: bool = False,
    max_in_flight: int = MAX_IN_FLIGHT,
) -> Iterator[list[Record] | Kept]:
    """Yield the records of each file that a walk has found; what is kept is passed on.

    A process gets several files with each message. Of a store it reads them at the same time, since that takes as long
    as to read one.
    """
    if workers:
        return _in_pool(_WorkerPool(workspace, workers), found, options, ordered, max_in_flight, FILES_AT_ONCE)
    if any(root.is_remote for root in workspace.roots):
        return _in_pool(_ThreadPool(workspace), found, options, True, max_in_flight, 1)
    return (read_file(workspace, path, options) if known is None else _result(path, known) for path, known in found)


def _result(path: str, known: ReadError | Kept) -> list[Record] | Kept:
    return known if isinstance(known, Kept) else [valid_record(failure(path, known))]


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


class _ThreadPool:
    """Threads of this process, most of which wait for a store."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.threads = ThreadPoolExecutor(FILES_AT_ONCE)

    def read(self, paths: list[str], options: Options) -> Iterator[list[Record]]:
        return (read_file(self._workspace, path, options) for path in paths)

    def close(self) -> None:
        self.threads.shutdown(cancel_futures=True)


class _WorkerPool:
    """Worker processes, each with a thread that waits for it. One that ends is replaced."""

    def __init__(self, workspace: Workspace, workers: int) -> None:
        self._workspace = pickle.dumps(workspace)
        self.threads = ThreadPoolExecutor(workers)
        self._idle: list[BulkWorker] = []

    def read(self, paths: list[str], options: Options) -> Iterator[list[Record]]:
        for attempt in range(MAX_CRASHES):
            # An idle process may have ended before it got these files, a new one has not.
            worker = BulkWorker(self._workspace) if attempt else self._take()
            try:
                records = worker.read(paths, options)
            except Ended:
                if len(paths) == 1:
                    continue
                return chain.from_iterable([self.read([path], options) for path in paths])
            self._idle.append(worker)
            return iter(records)
        message = "the process that read it ended; the file was given up"
        return iter([[valid_record(Record(paths[0], selector=paths[0], error_code="crash", error_message=message))]])

    def _take(self) -> BulkWorker:
        try:
            return self._idle.pop()
        except IndexError:
            return BulkWorker(self._workspace)

    def close(self) -> None:
        self.threads.shutdown(cancel_futures=True)
        for worker in self._idle:
            worker.close_input()
        for worker in self._idle:
            worker.end()


def _in_pool(
    pool: _WorkerPool | _ThreadPool,
    found: Iterable[FoundOrKept],
    options: Options,
    ordered: bool,
    max_in_flight: int,
    at_once: int,
) -> Iterator[list[Record] | Kept]:
    def results(batch: list[FoundOrKept]) -> list[list[Record] | Kept]:
        unread = [path for path, known in batch if known is None]
        read = pool.read(unread, options) if unread else iter(())
        return [next(read) if known is None else _result(path, known) for path, known in batch]

    waiting: list[Future[list[list[Record] | Kept]]] = []
    files = iter(found)
    try:
        while batch := list(islice(files, min(at_once, max_in_flight))):
            waiting.append(pool.threads.submit(results, batch))
            while len(waiting) * at_once >= max_in_flight:
                yield from _take(waiting, ordered)
        while waiting:
            yield from _take(waiting, ordered)
    finally:
        pool.close()


def _take(waiting: list[Future[list[list[Record] | Kept]]], ordered: bool) -> list[list[Record] | Kept]:
    """Wait for the first future, or for any; take it off the list and return its result."""
    if not ordered:
        wait(waiting, return_when=FIRST_COMPLETED)
    place = 0 if ordered else next(place for place, future in enumerate(waiting) if future.done())
    return waiting.pop(place).result()
