"""What an archive holds: its members, and how one is found by its name.

A name is looked up in the archive's directory and nowhere else; `../x` and `/etc/passwd` are names like any other. As
unpacking would have it, of several members with one name the last counts.
"""

from __future__ import annotations

from eyespan.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

MAX_MEMBERS = 200_000
MAX_HEADER_BYTES = 1 << 20
"""Of one member: names and the extra fields around them."""
MAX_DIRECTORY_BYTES = 64 << 20

FILE, FOLDER, LINK, HARD_LINK, OTHER = "file", "folder", "link", "hard link", "special"


@record
class Entry:
    """One member as the archive's directory tells it."""

    name: str
    what: str
    size_bytes: int
    offset: int
    """Of its header (zip) or its contents (tar)."""
    packed_bytes: int = 0
    method: int = 0
    checksum: int | None = None
    encrypted: bool = False
    target: str = ""
    """Where a link leads."""
    other_name: str = ""
    """The name read another way, where it does not say how it is to be read."""
    sparse: bool = False


@record
class Directory:
    """All members, in the order of the archive; `complaint` says why there may be more, or is ""."""

    format: str
    entries: tuple[Entry, ...]
    complaint: str = ""

    def find(self, name: str) -> Entry | None:
        """The member with this name: exactly, or read another way, or without `./` and the like."""
        exact = other = plain = None
        wanted = normal(name)
        for entry in self.entries:
            if entry.name == name:
                exact = entry
            elif entry.other_name == name:
                other = entry
            elif normal(entry.name) == wanted:
                plain = entry
        return exact or other or plain

    def has_folder(self, name: str) -> bool:
        """Whether members lie below this name."""
        prefix = normal(name) + "/" if normal(name) else ""
        return any(normal(entry.name).startswith(prefix) for entry in self.entries)


def normal(name: str) -> str:
    """A member's name without what archivers put into it: `./`, a slash at either end, backslashes for slashes."""
    if "\\" in name and "/" not in name:
        name = name.replace("\\", "/")
    if name.isascii() and "//" not in name and "./" not in name and name[:1] not in ("/", "."):
        return name.rstrip("/")
    return "/".join([part for part in name.split("/") if part not in ("", ".")])


def split_member(member: str, directory: Directory) -> tuple[Entry, str] | None:
    """The member that a text names and what is left of the text: a name may contain `!/`, so the longest wins."""
    entry = directory.find(member)
    if entry is not None:
        return entry, ""
    at = member.rfind("!/")
    while at > 0:
        entry = directory.find(member[:at])
        if entry is not None and entry.what != FOLDER:
            return entry, member[at + 2 :]
        at = member.rfind("!/", 0, at)
    return None


def entry_mark(entry: Entry) -> Hashable:
    """What no other member of the same archive has."""
    return ("member", entry.offset, entry.size_bytes)
