"""Things that are read as if they were files: members of archives, compressed files, files of the past.

Each is a `Source` like those of the guard, so readers know no difference. `open_inside` goes from an opened file to
what a request names inside it. Names inside an archive are judged by the same rules as names on disk.
"""

from __future__ import annotations

from eyespan.errors import NoMember, NotRegular, Unreadable
from eyespan.kinds import archive, compression
from eyespan.sources import cache, streams, tars, zips
from eyespan.sources.members import FILE, FOLDER, HARD_LINK, LINK, Directory, Entry, split_member
from eyespan.sources.nested import Decoded, Inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.context import CallContext
    from eyespan.policy import Policy
    from eyespan.source import Source

MAX_DEPTH = 3
"""Archives within archives."""
MAX_LAYERS = 3
"""Compressions around one thing."""
MAX_LINKS = 8


def open_inside(
    source: Source,
    member: str,
    policy: Policy,
    context: CallContext,
    *,
    decode: bool = True,
    decode_archives: bool = True,
) -> Source:
    """What `member` names inside an opened file, or without one what a compressed file holds, or the file itself.

    `decode`: a compressed file that is no archive is decoded; `decode_archives`: one that is. The name of a folder of
    an archive gives the archive, with the folder's name in `folder`. Takes `source` over; after an error it is still
    the caller's.

    Raises: NoMember, PolicyDenied, NotRegular, Unreadable, Missing, and what reading raises.
    """
    here = _decoded(source, context) if member or decode or decode_archives else source
    if not member:
        wanted = decode if archive(here.first_bytes) is None else decode_archives
        return here if wanted else source
    for _ in range(MAX_DEPTH):
        if archive(here.first_bytes) is None:
            raise Unreadable(source.asked, kind="archive", reason="it is no archive that can be looked into")
        directory = read_directory(here, context)
        found = split_member(member, directory)
        if found is None or (found[0].what == FOLDER and not found[1]):
            return _folder(here, member, directory, policy)
        entry, member = found
        here = _decoded(_member(here, entry, directory, policy, context), context)
        if not member:
            return here
    raise Unreadable(source.asked, kind="archive", reason=f"archives in archives are read {MAX_DEPTH} deep, no deeper")


def read_directory(source: Source, context: CallContext) -> Directory:
    """The members of a source that is an archive.

    Raises: Unreadable, and what reading raises.
    """
    found = cache.find_directory(source)
    if found is None:
        found = (zips if archive(source.first_bytes) == "zip" else tars).read_directory(source, context)
        cache.keep_directory(source, found)
    return found


def _decoded(source: Source, context: CallContext) -> Source:
    """What a compressed source holds; any other as it is."""
    for _ in range(MAX_LAYERS):
        how = compression(source.first_bytes)
        if how is None:
            return source
        inner = streams.inner_name(source.name)
        source = Decoded(
            source, streams.STREAMS[how], name=source.path, mark=how, context=context, kind="compressed", inner=inner
        )
    return source


def _folder(here: Source, member: str, directory: Directory, policy: Policy) -> Source:
    """The archive itself, to be listed below `member`. Raises: NoMember, PolicyDenied, Unreadable."""
    name = f"{here.path}!/{member}"
    if not directory.has_folder(member):
        if directory.complaint:
            raise Unreadable(here.asked, kind="archive", reason=directory.complaint)
        raise NoMember(here.asked, member=member, suggestions=_near(member, directory, here, policy))
    policy.admit(name.replace("!/", "/"), here.asked)
    view = Inside(here, 0, here.size_bytes, name=name, mark="folder")
    view.folder = member
    return view


def _member(here: Source, entry: Entry, directory: Directory, policy: Policy, context: CallContext) -> Source:
    """The bytes of one member. Raises: PolicyDenied, NotRegular, NoMember, Unreadable."""
    for _ in range(MAX_LINKS):
        name = f"{here.path}!/{entry.name}"
        policy.admit(name.replace("!/", "/"), here.asked)
        if entry.what != HARD_LINK:
            break
        target = directory.find(entry.target)
        if target is None or target is entry:
            raise Unreadable(here.asked, kind="archive", reason="the member is a link to one that is not there")
        entry = target
    if entry.what == LINK:
        to = f" to {entry.target!r}" if entry.target else ""
        reason = f"the member is a symbolic link{to}; links in archives are not followed"
        raise Unreadable(here.asked, kind="archive", reason=reason)
    if entry.what == FOLDER:
        raise NotRegular(here.asked, what="directory")
    if entry.what == HARD_LINK:
        raise Unreadable(here.asked, kind="archive", reason="the member is a link to a link, and so on")
    if entry.what != FILE:
        raise NotRegular(here.asked, what="device")
    if directory.format == "zip":
        return zips.open_member(here, entry, name, context)
    return tars.open_member(here, entry, name)


def _near(member: str, directory: Directory, here: Source, policy: Policy) -> tuple[str, ...]:
    """Members with the same last name, or one that is nearly the same; at most three."""
    last = member.rstrip("/").rpartition("/")[2].lower()
    allowed = [
        entry.name
        for entry in directory.entries[:5000]
        if entry.what == FILE and policy.rule_against(f"{here.path}/{entry.name}".replace("!/", "/")) is None
    ]
    same = [name for name in allowed if name.rpartition("/")[2].lower() == last]
    if not same:
        from difflib import get_close_matches

        same = get_close_matches(member, allowed[:500], 3)
    return tuple(same[:3])
