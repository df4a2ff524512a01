"""The type of a defect."""

from __future__ import annotations

from typing import NamedTuple

from proof import REPOSITORY

SRC = "src/eyespan"


class Defect(NamedTuple):
    """One change of text in one file."""

    name: str
    file: str
    """The path of the file, relative to the top directory."""
    old: str
    """The text to change; it must occur exactly once in the file."""
    new: str
    tests: str
    """The tests that are expected to fail, as arguments of pytest."""
    equivalent: str = ""
    """The reason if no test can notice the change."""

    def problem(self) -> str:
        """Describe why the defect cannot be inserted; "" if it can."""
        path = REPOSITORY / self.file
        count = path.read_text().count(self.old) if path.is_file() else 0
        if count == 1:
            return ""
        where = f"found {count} times in {self.file}" if path.is_file() else f"{self.file} does not exist"
        others = [str(other) for other in self._files_with_text() if str(other) != self.file]
        return f"{self.name!r}: {where}" + (f"; found in {', '.join(others)}" if others else "")

    def _files_with_text(self) -> list[object]:
        paths = sorted(path for path in (REPOSITORY / SRC).rglob("*") if path.suffix in (".py", ".c"))
        return [path.relative_to(REPOSITORY) for path in paths if self.old in path.read_text()]
