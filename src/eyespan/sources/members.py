"""The members of an archive, and the search for one by name.

A name is looked up in the archive's table of contents and nowhere else: `../x` and `/etc/passwd` are names like any
other. If several members have one name, the last counts, as it would after unpacking.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from eyespan.context import CallContext
from eyespan.policy import MAX_PATH_CHARS, MAX_PATH_NAMES, is_too_long

MAX_DEPTH = 3
"""The depth of archives in archives."""
MAX_MEMBERS = 100_000
MAX_HEADER_BYTES = 1 << 20
"""The largest tar header that is read: a name and the extra fields around it."""
MAX_CONTENTS_BYTES = 64 << 20
"""The largest zip central directory that is read."""
MAX_NAME_BYTES = 8 << 20
"""The memory that the names and link targets of one archive may take."""
TOO_MANY_NAMES = f"the names of its members take more than {MAX_NAME_BYTES >> 20} MiB"
TOO_LONG_NAME = f"the name of a member has more than {MAX_PATH_NAMES} parts or {MAX_PATH_CHARS >> 10} Ki characters"
MAX_SPLITS = 16
"""A text with more `!/` is split at the last ones."""
ENTRY_BYTES = 260
"""The memory of a member beside its names."""
_EMPTY_BYTES = "".__sizeof__()

FILE, DIRECTORY, LINK, HARD_LINK, OTHER = "file", "directory", "link", "hard link", "special"


@dataclass(frozen=True, slots=True)
class MemberEntry:
    """One member, as described by the archive's table of contents."""

    name: str
    what: str
    """FILE, DIRECTORY, LINK, HARD_LINK or OTHER."""
    size_bytes: int
    offset: int
    """The position of its header (zip) or of its contents (tar)."""
    packed_bytes: int = 0
    method: int = 0
    checksum: int | None = None
    is_encrypted: bool = False
    target: str = ""
    """The target of a link."""
    other_name: str = ""
    """The name in the other possible encoding, if the archive does not declare one."""
    claimed_names: tuple[str, ...] = ()
    """Names in other fields of its headers, under which other programs may unpack it. Only rules judge them."""
    is_sparse: bool = False

    def names(self) -> tuple[str, ...]:
        """Return all names that the rules judge."""
        others = (self.other_name, *self.claimed_names) if self.other_name else self.claimed_names
        return self.name, *others

    def texts(self) -> tuple[str, ...]:
        """Return the strings that come from the archive."""
        return self.name, self.target, self.other_name, *self.claimed_names


@dataclass(frozen=True, slots=True)
class Contents:
    """All members in archive order. `complaint` is "" or the reason why members may be missing."""

    format: str
    entries: tuple[MemberEntry, ...]
    complaint: str = ""
    name_bytes: int = 0
    """The memory that names and link targets take."""

    def find(self, name: str) -> MemberEntry | None:
        """Find a member by its exact name, else by its other name, else by its canonical name."""
        return self.find_all((name,))[0]

    def find_all(self, names: Sequence[str]) -> list[MemberEntry | None]:
        """Find the member of each of these names as `find` does, in one pass over all members."""
        wanted, canonical_names = frozenset(names), {name: canonical_name(name) for name in names}
        wanted_canonical = frozenset(canonical_names.values())
        exact: dict[str, MemberEntry] = {}
        other: dict[str, MemberEntry] = {}
        canonical: dict[str, MemberEntry] = {}
        for entry in self.entries:
            if entry.name in wanted:
                exact[entry.name] = entry
            if entry.other_name and entry.other_name in wanted:
                other[entry.other_name] = entry
            name = canonical_name(entry.name)
            if name in wanted_canonical:
                canonical[name] = entry
        return [exact.get(name) or other.get(name) or canonical.get(canonical_names[name]) for name in names]

    def has_directory(self, name: str) -> bool:
        """Return True if members lie below this name."""
        prefix = canonical_name(name) + "/" if canonical_name(name) else ""
        return any(canonical_name(entry.name).startswith(prefix) for entry in self.entries)


class Collector:
    """Collects the members of one archive, up to `MAX_MEMBERS` members and `MAX_NAME_BYTES` of names."""

    def __init__(self, archive_format: str, context: CallContext) -> None:
        self._format = archive_format
        self._context = context
        self._entries: list[MemberEntry] = []
        self._name_bytes = 0
        self._full = ""

    def add(self, entry: MemberEntry) -> bool:
        """Add a member, or return False if the archive exceeds a limit."""
        if len(self._entries) >= MAX_MEMBERS:
            self._full = f"it has more than {MAX_MEMBERS} members"
            return False
        if any(map(is_too_long, entry.texts())):
            self._full = TOO_LONG_NAME
            return False
        # A name with one character beyond the basic plane takes four bytes for each of its characters.
        name_bytes = sum([text.__sizeof__() - _EMPTY_BYTES for text in entry.texts() if text])
        self._name_bytes += name_bytes
        if self._name_bytes > MAX_NAME_BYTES:
            self._full = TOO_MANY_NAMES
            return False
        self._context.charge(ENTRY_BYTES + name_bytes)
        self._entries.append(entry)
        return True

    def contents(self, complaint: str = "") -> Contents:
        """Return the members. The limit that was exceeded takes precedence over `complaint`."""
        return Contents(self._format, tuple(self._entries), self._full or complaint, self._name_bytes)

    def __len__(self) -> int:
        return len(self._entries)


def canonical_name(name: str) -> str:
    """Return a member's name without archiver spellings: `./`, slashes at either end, backslashes for slashes."""
    if "\\" in name and "/" not in name:
        name = name.replace("\\", "/")
    if name.isascii() and "//" not in name and "./" not in name and name[:1] not in ("/", "."):
        return name.rstrip("/")
    return "/".join([part for part in name.split("/") if part not in ("", ".")])


def split_member(member: str, contents: Contents) -> tuple[MemberEntry, str] | None:
    """Split `member` into an entry and the rest after `!/`.

    A member's name may itself contain `!/`, so the longest name that exists wins. Returns None if there is none.
    """
    places = [len(member)]
    while len(places) <= MAX_SPLITS and (at := member.rfind("!/", 0, places[-1])) > 0:
        places.append(at)
    entries = contents.find_all([member[:at] for at in places])
    if entries[0] is not None:
        return entries[0], ""
    for at, entry in zip(places[1:], entries[1:], strict=True):
        if entry is not None and entry.what != DIRECTORY:
            return entry, member[at + 2 :] or "/"
    return None


def entry_key(entry: MemberEntry) -> Hashable:
    """Return a key that no other member of the same archive has."""
    return ("member", entry.offset, entry.size_bytes)
