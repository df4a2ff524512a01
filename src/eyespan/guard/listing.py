"""The names in a folder of the workspace, through the same door as its files. For completing paths, not for reading."""

from __future__ import annotations

import errno
import os
import stat

from eyespan.errors import NotRegular, PermissionRefused, ReadError, from_os_error
from eyespan.guard import is_pseudo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.guard import Guard

MAX_SEEN = 10_000
"""Entries looked at in one folder; a larger folder is listed in part."""


def names_in(guard: Guard, path: str) -> list[tuple[str, bool]]:
    """Names and whether each is a folder, unsorted; those that a rule forbids are left out. Links count as files.

    Raises: ReadError.
    """
    root, rest = guard.admit(path or ".")
    try:
        found = guard._find(guard.roots, root, rest, follow=True)
        try:
            if not stat.S_ISDIR(found.mode):
                raise NotRegular(path, what="file")
            guard.policy.admit(found.canonical, path)
            if found.fd < 0:
                return _scan(guard, os.path.join(found.root.canonical, found.canonical), found.canonical)
            if found.pseudo or (found.pseudo is None and is_pseudo(found.fd)):
                raise PermissionRefused(path, errno.EPERM, "files of kernel state are not read")
            # The descriptor only names the folder; "." below it is the same folder, whatever its name is by now.
            here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=found.fd)
            try:
                return _scan(guard, here, found.canonical)
            finally:
                os.close(here)
        finally:
            if found.fd >= 0:
                os.close(found.fd)
    except OSError as error:
        raise from_os_error(error, path) from None
    except ReadError as error:
        error.path = path
        raise


def _scan(guard: Guard, folder: int | str, below: str) -> list[tuple[str, bool]]:
    names: list[tuple[str, bool]] = []
    with os.scandir(folder) as entries:
        for seen, entry in enumerate(entries):
            if seen >= MAX_SEEN:
                break
            if guard.policy.rule_against(f"{below}/{entry.name}") is None:
                names.append((entry.name, entry.is_dir(follow_symlinks=False)))
    return names
