"""The corpus: small files that cost a careless reader memory or time, made by code.

Each bomb is made by one function, with the standard library alone. The makers take memory themselves, so the process
that is measured does not import this module: it reads the list that `make_corpus` writes.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from proof.bombs import archives, documents, formats, mixtures, repositories, texts

Make = Callable[[Path], None]
LIST = "bombs.json"
PLAIN = b"".join(b"line %d of the plain file\n" % number for number in range(1, 41))
MODULES = (texts, archives, repositories, documents, formats, mixtures)


@dataclass(frozen=True, slots=True)
class Bomb:
    """One file, or directory, that is read in every dialect."""

    name: str
    """The name of the file below the root."""
    group: str
    make: Make
    selectors: tuple[str, ...] = ()
    """Selectors for the native dialect, in addition to the name alone."""


def bombs() -> Iterator[Bomb]:
    """Yield all bombs, in the order of their groups."""
    for module in MODULES:
        for name, group, make, *selectors in module.rows():
            yield Bomb(name, group, make, tuple(selectors))


@functools.cache
def groups_by_name() -> dict[str, str]:
    """Return the group of each bomb by its name. Raises: ValueError if two bombs have one name."""
    rows = [(bomb.name, bomb.group) for bomb in bombs()]
    if len(dict(rows)) < len(rows):
        raise ValueError("two bombs have the same name")
    return dict(rows)


def make_corpus(root: Path, is_wanted: Callable[[Bomb], bool] = lambda _: True) -> list[str]:
    """Write bombs below a root, a plain file and small samples of documents; return the names of the bombs."""
    (root / "plain.txt").write_bytes(PLAIN)
    for name, data in documents.samples().items():
        (root / name).write_bytes(data)
    rows = []
    for bomb in bombs():
        if is_wanted(bomb):
            path = root / bomb.name
            path.parent.mkdir(parents=True, exist_ok=True)
            bomb.make(path)
            rows.append([bomb.name, bomb.group, list(bomb.selectors)])
    (root / LIST).write_text(json.dumps(rows))
    return [name for name, _, _ in rows]
