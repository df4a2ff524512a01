"""The answers that the server must give, computed from the files on disk."""

from __future__ import annotations

from typing import Any

DIALECTS = ("codex", "claude", "workspace", "forge", "native")


class Wrong(Exception):
    """Raised for an answer that differs from the disk or from the documents."""


class Reset(Wrong):
    """Raised where the connection ended before an answer arrived."""


def require_equal(got: Any, wanted: Any, subject: str) -> None:
    """Raise Wrong if two values differ."""
    if got != wanted:
        raise Wrong(f"{subject}: got {str(got)[:120]!r}, wanted {str(wanted)[:120]!r}")


def text_of(result: dict[str, Any]) -> str:
    """Return the text blocks of a result, joined. Raises: Wrong, for an error."""
    if result.get("isError"):
        raise Wrong(f"an unexpected error: {str(result)[:200]}")
    return "".join([block["text"] for block in result["content"] if block["type"] == "text"])


def check_window(dialect: str, lines: list[str], first: int, count: int, result: dict[str, Any]) -> None:
    """Compare a window of text (`first` counts from 1) with the lines on disk. Raises: Wrong."""
    shown = lines[first - 1 : first - 1 + count]
    numbered = list(enumerate(shown, first))
    text = text_of(result)
    match dialect:
        case "codex":
            require_equal(text, "\n".join([f"L{n}: {line}" for n, line in numbered]), "codex")
        case "claude":
            require_equal(text, "\n".join([f"{n:>6}\t{line}" for n, line in numbered]), "claude")
        case "forge":
            width = len(str(first + len(shown) - 1))
            require_equal(text.rstrip("\n"), "\n".join([f"{n:>{width}}\t{line}" for n, line in numbered]), "forge")
        case "workspace":
            require_equal(result["structuredContent"]["content"].rstrip("\n"), "\n".join(shown), "workspace")
        case "native":
            body = text.split("\n>note: ")[0].split("\n")[1:]
            require_equal([line.partition("\t")[2] for line in body], shown, "native")
            gutter = [line.partition("\t")[0] for line in body]
            for (n, _), number in zip(numbered, gutter, strict=True):
                require_equal(number, str(n), "native numbers")
