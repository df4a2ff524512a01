"""Text of source files: decoding, the comment above a definition, spellings on one line."""

from __future__ import annotations


def decode_text(data: bytes) -> str:
    """Return the text of a file: in the encoding of its BOM, else UTF-8; invalid bytes become U+FFFD."""
    from eyespan.lines.encodings import by_bom

    encoding = by_bom(data)
    if encoding is not None:
        return data[len(encoding.bom) :].decode(encoding.name, "replace")
    return data.decode("utf-8-sig", "replace")


def comment_start(lines: list[str], top: int, floor: int = 0, prefixes: tuple[str, ...] = ("#",)) -> int:
    """Return the first line of the comment directly above line `top` and indented like it, or `top` if there is none.

    Line `floor` and those before it do not belong to the comment.
    """
    start = lines[top - 1]
    indent = start[: len(start) - len(start.lstrip())]
    first = top
    while first - 1 > floor:
        line = lines[first - 2]
        body = line[len(indent) :]
        if not line.startswith(indent) or not body.startswith(prefixes) or (first == 2 and body.startswith("#!")):
            break
        first -= 1
    return first


def squeeze(text: str) -> str:
    """Return a definition on one line, spelled the same whether it stood on one line or many."""
    text = " ".join(text.split())
    return text.replace("( ", "(").replace(",)", ")").replace(", )", ")").replace(" )", ")")
