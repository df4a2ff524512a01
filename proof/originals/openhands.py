"""OpenHands' `file_editor view`, and the declared differences of the `openhands` dialect from it."""

from __future__ import annotations

import base64
import os
import random
import re
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from eyespan.extras.families.openhands import OpenHands
from proof.originals.child import Child
from proof.originals.rules import (
    BINARY,
    BOM_LINE,
    BOTH_OUTSIDE,
    CRLF,
    LISTS_OUTSIDE,
    OUTSIDE,
    STRICT,
    SURROGATES,
    WRONG,
    Answer,
    Case,
    Rule,
    lines_at,
)
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "openhands"
PEER = "openhands-tools"
ENCODINGS: dict[bytes, str] = {}
"""The encoding that the original takes for the contents of a file."""


class Original(Child):
    """The original, called in its own environment."""

    def __init__(self, place: Path, root: Path) -> None:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # its import asks the network otherwise
        os.chdir(place)  # relative paths are suggested from the working directory
        super().__init__([str(place / "bin/python"), "-P", str(Path(__file__).with_name("openhands_original.py"))])
        files = [path for path in root.rglob("*") if path.is_file()]
        answer = self.ask({"encodings_of": [str(path) for path in files]})
        ENCODINGS.update({path.read_bytes(): found for path, found in zip(files, answer["encodings"], strict=True)})

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = self.ask(arguments)
        blocks: list[Any] = []
        for block in answer["blocks"]:
            if "image_urls" in block:
                kind, _, data = block["image_urls"][0].removeprefix("data:").partition(";base64,")
                blocks.append({"type": "image", "data": data, "mimeType": kind})
            else:
                blocks.append({"type": "text", "text": block["text"]})
        is_text = all(block["type"] == "text" for block in blocks)
        text = "".join([block["text"] for block in blocks if is_text])
        return answer["failed"], _MARKED.sub(CLIPPED, text) if is_text else blocks


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    path = random_path(rng, root, names)
    if rng.random() < 0.9 and not path.startswith("/"):
        path = f"{root}/{path}"
    arguments: dict[str, Any] = {"command": "view", "path": path}
    if rng.random() < 0.6:
        arguments["view_range"] = [random_number(rng), rng.choice([random_number(rng), -1])]
    if rng.random() < 0.02:
        arguments["view_range"] = rng.choice([[], [1], [1, 2, 3], "1", 3, None, [5, 2], [0, 1]])
    return "file_editor", spoiled(rng, arguments, "path")


_MARKED = re.compile("<response clipped><NOTE>.*?</NOTE>")
CLIPPED = "[clipped]"
"""Stands for the notice in the middle of a long answer."""
FILE_NOTICE, LISTING_NOTICE = 250, 183
"""The characters of that notice in a file, and in a listing."""


def _refused_as_binary(case: Case, own: Answer) -> Answer:
    """Return the refusal of a file that is not UTF-8, or that holds control characters."""
    text = case.contents().decode("utf-8", "replace")
    if not re.search("[\ufffd\0-\x08\x0e-\x1f\x7f\x80-\x9f]", text):
        return own
    path = PurePosixPath(case.arguments["path"])
    text = "File appears to be binary and this file type cannot be read or edited by this tool."
    return True, f"File validation failed for {path}: {text}"


def _guessed(data: bytes) -> bytes:
    """Return a text in the encoding that the original takes it for."""
    return data.decode(ENCODINGS.get(data, "utf-8"), "surrogateescape").encode("utf-8", "surrogateescape")


def _refused_by_decoding(case: Case, own: Answer) -> Answer:
    try:
        encoding = "utf-8-sig" if case.contents().startswith(b"\xef\xbb\xbf") else "utf-8"
        with case.file().open(encoding=encoding) as file:
            for _ in file:
                pass
    except UnicodeDecodeError as error:
        path = PurePosixPath(case.arguments["path"])
        text = "file contains binary content that cannot be decoded as text."
        return True, f"Cannot view {path}: {text} Error: {error}"
    except (OSError, ValueError):
        pass
    return own


_IMAGES = {".png": "image/png", ".gif": "image/gif", ".jpg": "image/jpeg", ".webp": "image/webp"}


def _clipped(text: str, notice: int) -> str:
    """Return a text of at most 16,000 characters, whose middle is a notice."""
    head, odd = divmod(16_000 - notice, 2)
    return text if len(text) <= 16_000 else text[: head + odd] + CLIPPED + text[len(text) - head :]


def _clipped_listing(case: Case, own: Answer) -> Answer:
    return own[0], _clipped(own[1], LISTING_NOTICE) if own[1].startswith("Here's the files") else own[1]


def _with_slashes(case: Case, own: Answer) -> Answer:
    """Return a listing in which a backslash in a name is a slash."""
    lead, _, names = own[1].partition("\n")
    return own[0], f"{lead}\n" + names.replace("\\", "/") if lead.startswith("Here's the files") else own[1]


def _by_suffix(case: Case, own: Answer) -> Answer:
    path = PurePosixPath(case.arguments["path"])
    if path.suffix not in _IMAGES or not case.file().is_file():
        return own
    text = f"Image file {path} read successfully. Displaying image content."
    data = base64.b64encode(case.contents()).decode()
    return False, [{"type": "text", "text": text}, {"type": "image", "data": data, "mimeType": _IMAGES[path.suffix]}]


def _clipped_file(case: Case, own: Answer) -> Answer:
    """Return the answer whose middle is clipped, with the rest numbered on."""
    found = re.fullmatch(r"(?s)((?:NOTE: .*?\n)?Here's the result of .*?:\n)( *(\d+)\t.*)\n", str(own[1]))
    if found is None:
        return own
    text = "\n".join([row.partition("\t")[2] for row in re.split(r"\n(?= *\d+\t)", found[2])])
    data = case.contents()
    has_last = int(found[3]) + text.count("\n") > data.count(b"\n")
    text += "" if has_last and not data.endswith(b"\n") else "\n"
    if len(text) <= 16_000:
        return own
    text = _clipped(text, FILE_NOTICE)
    rows = [f"{number:6}\t{line}" for number, line in enumerate(text.removesuffix("\n").split("\n"), int(found[3]))]
    return False, found[1] + "\n".join(rows) + "\n"


RULES = (
    Rule("a relative path", refused=lambda case: not str(case.arguments.get("path")).startswith("/")),
    WRONG,
    STRICT,
    OUTSIDE,
    CRLF,
    BINARY,
    BOM_LINE,
    Rule("a long answer is cut after a line", table={"settings": {"max_characters": None}}, answer=_clipped_file),
    Rule("only a line feed ends a line", files=lines_at("\r")),
    Rule("`..` is resolved in the text of a path", table={"paths": replace(OpenHands.paths, is_lexical=False)}),
    Rule("a file that is not an image is not sent as one", answer=_by_suffix),
    Rule("text that is not UTF-8, or holds control characters, is shown, not refused", answer=_refused_as_binary),
    Rule("text that is not UTF-8 is shown, not refused", answer=_refused_by_decoding),
    SURROGATES,
    LISTS_OUTSIDE,
    Rule("a backslash is part of a name", answer=_with_slashes),
    Rule("a long listing is shown whole", answer=_clipped_listing),
    BOTH_OUTSIDE,
    Rule("text that is not UTF-8 is shown as U+FFFD, not guessed", files=_guessed),
)
