"""The repository of a file, and its files: HEAD, refs, configuration and the directories of objects.

Everything is opened through the guard. A file that is missing, of another type or outside the roots does not exist.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from eyespan.errors import NoRevision, NotFound, NotRegular, OutsideRoot, PolicyDenied, Unreadable
from eyespan.guard import Guard
from eyespan.source import Source

MAX_REF_BYTES = 4096
MAX_CONFIG_BYTES = 1 << 20
MAX_ALTERNATES_BYTES = 1 << 16
MAX_ALTERNATES = 8
MAX_LINKED_TREES = 32
HEX_DIGITS = frozenset("0123456789abcdef")


def corrupt() -> Unreadable:
    """Return the error for a repository that violates its format."""
    return Unreadable("", kind="git", reason="corrupt repository")


def find(guard: Guard, root: str, path: str, revision: str) -> tuple[Repository, str]:
    """Find the repository of the innermost directory that has one, and the file's path in it.

    Raises: NoRevision, OutsideRoot.
    """
    directory = path
    while directory:
        directory = directory.rpartition("/")[0]
        inner = path[len(directory) + 1 :] if directory else path
        place = os.path.join(root, directory, ".git")
        head = _read_head(guard, place)
        if head is not None:
            return Repository(guard, place, head), inner
        pointer = _read_text(guard, place, MAX_REF_BYTES)
        if pointer is not None and pointer.startswith("gitdir:"):
            place = os.path.join(root, directory, pointer[7:].strip())
            try:
                head = _read_head(guard, place)
            except OutsideRoot:
                reason = "the repository of this working copy lies outside the workspace"
                raise NoRevision("", revision=revision, reason=reason) from None
            if head is not None:
                return Repository(guard, place, head), inner
    raise NoRevision("", revision=revision, reason="no git repository in the workspace contains it")


class Repository:
    """The files of one repository."""

    def __init__(self, guard: Guard, directory: str, head: str) -> None:
        self._guard = guard
        self._directory = directory
        """The directory of this working copy, with its own HEAD; a worktree shares the rest."""
        self.head = head
        common = _read_text(guard, f"{directory}/commondir", MAX_REF_BYTES)
        self._common = os.path.join(directory, common) if common else directory
        self._work_tree = ""
        self.hash_bytes = 20
        self.uses_reftable = False
        self._read_config(_read_settings(guard, f"{self._common}/config"))
        self.object_directories = self._find_object_directories()

    def _read_config(self, data: bytes) -> None:
        """Take the settings that matter here from a configuration file of git."""
        for line in _lines_with(data, b"objectformat"):
            if _setting(line) == (b"objectformat", b"sha256"):
                self.hash_bytes = 32
        for line in _lines_with(data, b"refstorage"):
            if _setting(line) == (b"refstorage", b"reftable"):
                self.uses_reftable = True
        for line in _lines_with(data, b"worktree"):
            key, sign, value = line.partition(b"=")
            if sign and key.lower().rpartition(b"]")[2].strip() == b"worktree":
                self._work_tree = value.decode("utf-8", "replace").strip().strip('"')

    def paths_of(self, inner: str) -> list[str]:
        """Return the paths below a root that a file of this repository has in its working trees.

        A `.git` file or link, or borrowed objects, may belong to a working tree elsewhere in the workspace: the rules
        apply there too. The tree of a directory `.git` is its parent; `core.worktree` names another.
        """
        paths: dict[str, None] = {}
        for directory in dict.fromkeys([self._directory, self._common, *self.object_directories]):
            try:
                place = self._guard.list_beneath(directory).path
            except (NotFound, NotRegular, OutsideRoot):
                continue
            parts = place.split("/")
            trees = ["/".join(parts[:at]) for at, part in enumerate(parts) if part.lower() == ".git"]
            if self._work_tree:
                trees.append(os.path.normpath(os.path.join(place, self._work_tree)).replace(os.sep, "/"))
            paths.update(dict.fromkeys([f"{tree}/{inner}" if tree else inner for tree in trees]))
        paths.update(dict.fromkeys([f"{tree}/{inner}" if tree else inner for tree in self._linked_trees()]))
        return list(paths)

    def _linked_trees(self) -> list[str]:
        """Return the paths below a root of the working trees that `git worktree` has linked to this repository."""
        trees = []
        for name in self.list_names(f"{self._common}/worktrees")[:MAX_LINKED_TREES]:
            place = f"{self._common}/worktrees/{name}"
            pointer = _read_text(self._guard, f"{place}/gitdir", MAX_REF_BYTES)
            source = self.open_file(os.path.join(place, pointer)) if pointer else None
            if source is not None:
                with source:
                    trees.append(source.canonical.rpartition("/")[0])
        return trees

    def is_hash(self, word: str) -> bool:
        """Return True for a full hash in lower case."""
        return len(word) == 2 * self.hash_bytes and HEX_DIGITS.issuperset(word)

    def read_ref(self, name: str) -> str | None:
        """Return the text of a loose ref, or None if there is none."""
        if name == "HEAD":
            return self.head
        text = None
        if self._common != self._directory:
            text = _read_text(self._guard, f"{self._directory}/{name}", MAX_REF_BYTES)
        if text is None:
            text = _read_text(self._guard, f"{self._common}/{name}", MAX_REF_BYTES)
        return text

    def open_packed_refs(self) -> Source | None:
        """Open the file of packed refs, or return None."""
        return self.open_file(f"{self._common}/packed-refs")

    def open_file(self, path: str) -> Source | None:
        """Open a file of the repository, or return None if it does not exist in the workspace."""
        try:
            return self._guard.open(path)
        except (NotFound, NotRegular, OutsideRoot):
            return None

    def list_names(self, directory: str) -> list[str]:
        """Return the names in a directory of the repository; none if it does not exist in the workspace."""
        try:
            return [entry.name for entry in self._guard.list_beneath(directory).entries]
        except (NotFound, NotRegular, OutsideRoot):
            return []

    def _find_object_directories(self) -> list[str]:
        """Return the directory of objects, and those of the repositories it borrows objects from (alternates)."""
        directories = [f"{self._common}/objects"]
        for directory in directories:
            text = _read_text(self._guard, f"{directory}/info/alternates", MAX_ALTERNATES_BYTES) or ""
            for line in text.splitlines():
                path = os.path.normpath(os.path.join(directory, line.strip()))
                if (
                    line.strip()
                    and not line.startswith("#")
                    and path not in directories
                    and len(directories) < MAX_ALTERNATES
                ):
                    directories.append(path)
        return directories


def _lines_with(data: bytes, word: bytes) -> Iterator[bytes]:
    """Yield the lines that contain a word in any case.

    The others are never objects of their own: a file of 1 MiB may have as many lines.
    """
    folded = data.lower()
    at = folded.find(word)
    while at >= 0:
        start, end = folded.rfind(b"\n", 0, at) + 1, folded.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield data[start:end]
        at = folded.find(word, end)


def _setting(line: bytes) -> tuple[bytes, bytes]:
    """Return the key and the first word of the value of a line, in lower case."""
    key, _, value = line.lower().partition(b"=")
    return key.rpartition(b"]")[2].strip(), (value.split(None, 1) or [b""])[0].strip(b'"')


def _read_head(guard: Guard, directory: str) -> str | None:
    """Return the text of HEAD, or None if the directory is no repository. Raises: OutsideRoot."""
    try:
        data = _small_bytes(guard.open(f"{directory}/HEAD"), MAX_REF_BYTES)
    except (NotFound, NotRegular):
        return None
    return (data or b"").decode("utf-8", "replace").strip()


def _read_text(guard: Guard, path: str, max_bytes: int) -> str | None:
    """Return the text of a small file; None if it does not exist in the workspace or is larger than `max_bytes`."""
    data = _read_bytes(guard, path, max_bytes)
    return None if data is None else data.decode("utf-8", "replace").strip()


def _read_settings(guard: Guard, path: str) -> bytes:
    """Return the configuration of a repository, also where a rule denies it to callers: nothing shows its text."""
    try:
        return _read_bytes(guard, path, MAX_CONFIG_BYTES) or b""
    except PolicyDenied:
        return _read_bytes(guard.without_rules(), path, MAX_CONFIG_BYTES) or b""


def _read_bytes(guard: Guard, path: str, max_bytes: int) -> bytes | None:
    try:
        return _small_bytes(guard.open(path), max_bytes)
    except (NotFound, NotRegular, OutsideRoot):
        return None


def _small_bytes(source: Source, max_bytes: int) -> bytes | None:
    with source:
        data = source.read_fully(0, max_bytes + 1)
    return data if len(data) <= max_bytes else None
