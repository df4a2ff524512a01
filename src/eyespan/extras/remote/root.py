"""A remote root: the guard treats it as a directory whose file system may not answer."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from eyespan.context import CallContext
from eyespan.errors import InvalidPath, NotFound, NotRegular, OutsideRoot, StoreFailure
from eyespan.extras.remote.address import split_address
from eyespan.extras.remote.remote_file import FIRST_BYTES, RemoteFile, number_of, status_of
from eyespan.extras.remote.store import LEFT_OUT, ObjectVersion, Store
from eyespan.guard.ignore import SKIPPED
from eyespan.guard.listing import Entry, Listing
from eyespan.guard.roots import RemoteRoot
from eyespan.guard.tree import MAX_FILES, Accepts, Choose, DirectoryFiles, Found, Key, Survey, Take, file_memory, key_of
from eyespan.policy import Policy

MAX_KEY_BYTES = 1024
"""The longest key of S3, Google and Azure."""
MAX_EXPLORED = 64
"""The files whose first bytes are read for a map."""
READ_AT_ONCE = 8
"""The files of a map that are read at the same time."""
PROBED_BYTES = 16
"""The bytes of an object that are read to learn that there is one: s3rver sends all for a range of one byte."""
_SELECTOR_SIGNS = frozenset(":!@?*")


class StoreRoot(RemoteRoot):
    """The objects of a store under the name of a directory. A subclass provides `store`."""

    def __init__(self, text: str) -> None:
        """Raises: ValueError."""
        self.url, path = split_address(text)
        super().__init__(text, path)

    def store(self, asked: str = "") -> Store:
        """Return the client of this process. Raises: Missing, StoreFailure."""
        raise NotImplementedError  # abstract

    def keys_of(self, rest: str, asked: str) -> list[str]:
        key = self._key(rest, asked)
        return [key, *self._other_keys(key, asked)]

    def _key(self, rest: str, asked: str) -> str:
        """Return the key of a path below the root, with `.` and `..` resolved in the text: a bucket has no links.

        Raises: OutsideRoot, InvalidPath, OSError for a key that no store takes.
        """
        parts: list[str] = []
        names = rest.rstrip("/").split("/") if rest else []
        for name in names:
            if name == "..":
                if not parts:
                    raise OutsideRoot(asked)
                parts.pop()
            elif not name and names != [""]:
                raise InvalidPath(asked, "an empty name between two slashes is not part of a key here")
            elif name not in ("", "."):
                parts.append(name)
        key = "/".join(parts)
        if len(key.encode("utf-8", "surrogateescape")) > MAX_KEY_BYTES:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        return key

    def _other_keys(self, key: str, asked: str) -> list[str]:
        """Return further keys that the store may take a key for. Raises: OutsideRoot, if one of them is above it."""
        return []

    def open(self, rest: str, asked: str, context: CallContext) -> RemoteFile:
        """Open the object that a path below the root names. Raises: ReadError, OSError."""
        store = self.store(asked)
        key = self._key(rest, asked)
        if not key:
            raise NotRegular(asked, what="directory")
        try:
            data, version = store.get(key, 0, FIRST_BYTES, None, context, asked)
        except NotFound:
            if self._is_directory(store, key, context, asked):
                raise NotRegular(asked, what="directory") from None
            self._check_parents(store, key, context, asked)
            raise
        if _names_directory(rest):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return RemoteFile(store, key, version, data, url=f"{self.url}/{key}", asked=asked, path=key, context=context)

    def _is_directory(self, store: Store, key: str, context: CallContext, asked: str) -> bool:
        if not _SELECTOR_SIGNS.isdisjoint(key):
            return False  # most likely a selector after a name, which is tried next: save a request
        try:
            return store.has_names(key, context, asked)
        except NotRegular:
            return False  # a web server has no listings

    def _check_parents(self, store: Store, key: str, context: CallContext, asked: str) -> None:
        """Check that a missing key does not lie below an object. Mostly one request: the directory of the key exists.

        Raises: NotADirectoryError, ReadError.
        """
        if not _SELECTOR_SIGNS.isdisjoint(key):
            return
        while "/" in key:
            key = key.rpartition("/")[0]
            try:
                if store.has_names(key, context, asked):
                    return
                store.get(key, 0, PROBED_BYTES, None, context, asked)
            except NotRegular:
                return  # a web server has no listings
            except NotFound:
                continue
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))

    def describe(self, rest: str, asked: str, context: CallContext) -> os.stat_result:
        """Return the status of an object or of a directory. Raises: ReadError, OSError."""
        try:
            with self.open(rest, asked, context) as file:
                return file.status
        except NotRegular:
            return status_of(0, ObjectVersion(0, "", 0), 0o040555)

    def list(self, rest: str, asked: str, policy: Policy, context: CallContext) -> Listing:
        """List the names below a prefix, without those that a rule forbids.

        Raises: ReadError, OSError; NotFound if no object has that prefix, NotRegular(what="file") for an object.
        """
        key = self._key(rest, asked)
        store = self.store(asked)
        names = store.names(key, context, asked)
        if key and not names:
            self.open(rest.rstrip("/"), asked, context).close()
            raise NotRegular(asked, what="file")
        candidates = [Entry(name, "directory", 0) for name in names.directories]
        candidates += [Entry(name, "file", size_bytes) for name, size_bytes in names.objects.items() if name]
        prefix = f"{key}/" if key else ""
        entries = []
        for entry in sorted(candidates, key=lambda entry: entry.name):
            name = f"{prefix}{entry.name}"
            is_denied = policy.rule_against(name, self.canonical) is not None
            if entry.what == "directory" and not is_denied:
                is_denied = policy.rule_against(f"{name}/x", self.canonical) is not None
            if not is_denied:
                entries.append(entry)
        return Listing(key or ".", tuple(entries), names.is_cut or names.left_out > 0, left_out=names.left_out)

    def files(self, rest: str, asked: str, policy: Policy, after: str) -> Iterator[Found]:
        """Yield the paths, below `rest`, of all objects that no rule forbids and that follow `after`, in order.

        A page is in memory at a time. Raises: ReadError, OSError.
        """
        key = self._key(rest, asked)
        for path, version in self._below(key, policy, {}, CallContext(), asked):
            if path > after:
                status = status_of(number_of(f"{self.url}/{key and f'{key}/'}{path}"), version)
                yield path, None, (status.st_dev, status.st_ino)

    def _below(
        self, key: str, policy: Policy, hidden: dict[str, int], context: CallContext, asked: str
    ) -> Iterator[tuple[str, ObjectVersion]]:
        """Yield path and version of all objects below a key; `hidden` counts those that each rule forbids."""
        prefix = key and f"{key}/"

        @lru_cache(maxsize=MAX_KEY_BYTES)
        def rule_above(directory: str) -> str | None:
            """Return the rule that forbids the name of a directory, or of one above it."""
            if not directory:
                return None
            return rule_above(directory.rpartition("/")[0]) or policy.rule_against(prefix + directory, self.canonical)

        for name, version in self.store(asked).below(key, context, asked):
            path = name.removeprefix(prefix)
            if rule := rule_above(path.rpartition("/")[0]) or policy.rule_against(name, self.canonical):
                hidden[rule] = hidden.get(rule, 0) + 1
            elif path:
                yield path, version

    def explore(
        self,
        rest: str,
        asked: str,
        policy: Policy,
        choose: Choose,
        take: Take,
        max_bytes: int,
        context: CallContext,
        accepts: Accepts = None,
    ) -> Survey:
        """Do what `guard.tree.explore` does. The first `MAX_EXPLORED` of the chosen files are read, a request
        each, several at the same time.

        Raises: ReadError, OSError; NotRegular(what="file") for an object.
        """
        key = self._key(rest, asked)
        store = self.store(asked)
        prefix = key and f"{key}/"
        directories: dict[str, list[tuple[str, Key]]] = {"": []}
        hidden: dict[str, int] = {}
        count, is_complete = 0, True
        for path, version in self._below(key, policy, hidden, context, asked):
            directory, slash, name = path.rpartition("/")
            is_complete = is_complete and name != LEFT_OUT and count < MAX_FILES
            if count >= MAX_FILES:
                break
            if name != LEFT_OUT and SKIPPED.isdisjoint(path.split("/")) and (accepts is None or accepts(path)):
                context.charge(file_memory(name))
                directories.setdefault(directory + slash, []).append((name, self._file_key(prefix + path, version)))
                count += 1
        if key and not count:
            self.list(rest, asked, policy, context)
        found = {path: DirectoryFiles(sorted(directories[path])) for path in sorted(directories)}
        survey = Survey(key or ".", found, is_complete, hidden)
        chosen = [f"{directory}{name}" for directory, names in choose(survey).items() for name in names][:MAX_EXPLORED]

        def first_bytes(path: str) -> tuple[bytes, ObjectVersion] | None:
            try:
                return store.get(f"{prefix}{path}", 0, max_bytes, None, context, asked)
            except (NotFound, StoreFailure):
                return None

        with ThreadPoolExecutor(READ_AT_ONCE) as threads:
            for path, data in zip(chosen, threads.map(first_bytes, chosen), strict=True):
                if data is not None:
                    take(path, data[0], self._file_key(f"{prefix}{path}", data[1]))
        return survey

    def _file_key(self, key: str, version: ObjectVersion) -> Key:
        status = status_of(number_of(f"{self.url}/{key}"), version)
        return key_of(status.st_size, status.st_dev, status.st_mtime_ns, status.st_ino)


def _names_directory(rest: str) -> bool:
    """Return True for a path that can only be a directory: it ends with a slash or a dot."""
    return rest.rpartition("/")[2] in ("", ".", "..")
