"""Open members of archives, and compressed files.

`open_nested` goes from an opened file to the member that a request names. Names in an archive are subject to the same
policy as names on disk.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from eyespan.context import CallContext
from eyespan.errors import NoMember, NotRegular, Unreadable
from eyespan.extras.archives import compressed_names, tars
from eyespan.extras.archives.plugin import ARCHIVE, COMPRESSED
from eyespan.model import ReadRequest
from eyespan.policy import Policy
from eyespan.signatures import archive, compression
from eyespan.source import Source
from eyespan.sources import cache, streams, zips
from eyespan.sources.members import DIRECTORY, FILE, HARD_LINK, LINK, MAX_DEPTH, Contents, MemberEntry, split_member
from eyespan.sources.nested import DecodedSource, NestedSource

MAX_LAYERS = 3
"""Compressions around one file."""
MAX_LINKS = 8


def open_nested(source: Source, request: ReadRequest, policy: Policy, context: CallContext) -> Source:
    """Open the member of an opened file that a request names; without one, the decoded form of a compressed file.

    A file that is not compressed, or whose kind the request does not want decoded, is returned as it is. The name of a
    directory in an archive gives the archive, with that name in `directory`. Takes `source` over; after an error it
    still belongs to the caller.

    Raises: NoMember, PolicyDenied, NotRegular, Unreadable, Missing, and what reading raises.
    """
    member = request.member
    decode, decode_archives = COMPRESSED.is_one_of(request.documents), ARCHIVE.is_one_of(request.documents)
    if member:
        # Before it is looked up: a refusal must not depend on the existence of the member.
        admit_member(source, (member,), policy)
    here = _decompress(source, policy, context) if member or decode or decode_archives else source
    if not member:
        is_wanted = decode if archive(here.first_bytes) is None else decode_archives
        return here if is_wanted else source
    for _ in range(MAX_DEPTH):
        if archive(here.first_bytes) is None:
            raise Unreadable(source.asked, kind="archive", reason="not a known type of archive")
        contents = read_contents(here, context)
        split = split_member(member, contents)
        if split is None or (split[0].what == DIRECTORY and not split[1]):
            return _open_directory(here, member, contents, policy)
        entry, member = split
        here = _decompress(_open_member(here, entry, contents, policy, context), policy, context)
        if not member:
            return here
    raise Unreadable(source.asked, kind="archive", reason=f"more than {MAX_DEPTH} archives inside each other")


def read_contents(source: Source, context: CallContext) -> Contents:
    """Read the table of contents of a source that is an archive, or return it from the cache.

    Raises: Unreadable, and what reading raises.
    """
    contents = cache.find_contents(source)
    if contents is None:
        started_ns = time.time_ns()
        contents = (zips if archive(source.first_bytes) == "zip" else tars).read_contents(source, context)
        cache.store_contents(source, contents, started_ns)
    return contents


def _decompress(source: Source, policy: Policy, context: CallContext) -> Source:
    """Return the decoded form of a compressed source, any other as it is.

    Raises: PolicyDenied if a rule forbids the original name in its header.
    """
    for _ in range(MAX_LAYERS):
        method = compression(source.first_bytes)
        if method is None:
            return source
        original = compressed_names.original_name(source.first_bytes)
        if original:
            for path in containers(source):
                directory = path.rpartition("/")[0]
                policy.admit(f"{directory}/{original}" if directory else original, source.asked)
        source = DecodedSource(
            source,
            streams.STREAMS[method],
            path=source.path,
            name=compressed_names.inner_name(source.name),
            key=method,
            context=context,
            kind="compressed",
        )
    return source


def _open_directory(here: Source, member: str, contents: Contents, policy: Policy) -> Source:
    """Return the archive itself, to be listed below `member`. Raises: NoMember, PolicyDenied, Unreadable."""
    path = f"{here.path}!/{member}"
    if not contents.has_directory(member):
        if contents.complaint:
            raise Unreadable(here.asked, kind="archive", reason=contents.complaint)
        raise NoMember(here.asked, member=member, suggestions=_similar_names(member, contents, here, policy))
    admit_member(here, (member,), policy)
    view = NestedSource(here, 0, here.size_bytes, path=path, key="directory")
    view.directory = member
    return view


def _open_member(here: Source, entry: MemberEntry, contents: Contents, policy: Policy, context: CallContext) -> Source:
    """Open one member, through hard links. Raises: PolicyDenied, NotRegular, NoMember, Unreadable."""
    for _ in range(MAX_LINKS):
        path = f"{here.path}!/{entry.name}"
        admit_member(here, entry.names(), policy)
        if entry.what != HARD_LINK:
            break
        target = contents.find(entry.target)
        if target is None or target is entry:
            raise Unreadable(here.asked, kind="archive", reason="the member is a link to a missing member")
        entry = target
    if entry.what == LINK:
        is_shown = entry.target and not has_denied_target(entry, containers(here), policy)
        to = f" to {entry.target!r}" if is_shown else ""
        reason = f"the member is a symbolic link{to}; links in archives are not followed"
        raise Unreadable(here.asked, kind="archive", reason=reason)
    if entry.what == DIRECTORY:
        raise NotRegular(here.asked, what="directory")
    if entry.what == HARD_LINK:
        raise Unreadable(here.asked, kind="archive", reason=f"the member is a chain of more than {MAX_LINKS} links")
    if entry.what != FILE:
        raise NotRegular(here.asked, what="device")
    if contents.format == "zip":
        return zips.open_member(here, entry, path, context)
    return tars.open_member(here, entry, path)


def containers(archive: Source) -> tuple[str, ...]:
    """Return the paths below which the members of an archive are judged: as it was named, and with links resolved."""
    paths = dict.fromkeys([archive.path, archive.canonical])
    directory = getattr(archive, "directory", None)
    return tuple([path.removesuffix(f"!/{directory}") if directory else path for path in paths])


def admit_member(archive: Source, names: Iterable[str], policy: Policy) -> None:
    """Check that no rule forbids a member under any of its names. Raises: PolicyDenied."""
    for container in containers(archive):
        for name in names:
            policy.admit_member(container, name, archive.asked)


def is_denied(entry: MemberEntry, places: Iterable[str], policy: Policy) -> bool:
    """Return True if a rule forbids the member, under any of its names."""
    names = entry.names()
    return any(policy.rule_against_member(place, name) is not None for place in places for name in names)


def has_denied_target(entry: MemberEntry, places: Iterable[str], policy: Policy) -> bool:
    """Return True if a link leads to a name that a rule forbids. Links are relative to their own directory."""
    target = entry.target.replace("\\", "/")
    directory = entry.name.replace("\\", "/").rpartition("/")[0]
    names = {target, f"{directory}/{target}"} if entry.what == LINK and directory else {target}
    return any(policy.rule_against_member(place, name) is not None for place in places for name in names)


def _similar_names(member: str, contents: Contents, here: Source, policy: Policy) -> tuple[str, ...]:
    """Return at most three members with the same last component, or else with a similar name."""
    last = member.rstrip("/").rpartition("/")[2].lower()
    places = containers(here)
    allowed = [
        entry.name for entry in contents.entries[:5000] if entry.what == FILE and not is_denied(entry, places, policy)
    ]
    similar = [name for name in allowed if name.rpartition("/")[2].lower() == last]
    if not similar:
        from eyespan.suggest import nearest

        similar = nearest(member, allowed[:500])
    return tuple(similar[:3])
