"""Call the `file_editor` tool of OpenHands, in its own environment: one JSON object per line in, one answer out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from openhands.tools.file_editor.definition import FileEditorAction
from openhands.tools.file_editor.impl import FileEditorExecutor
from openhands.tools.file_editor.utils.encoding import EncodingManager


def main() -> None:
    executor = FileEditorExecutor()
    manager = EncodingManager()
    for line in sys.stdin:
        request = json.loads(line)
        if "encodings_of" in request:
            paths = [Path(path) for path in request["encodings_of"]]
            found = [manager.resolve_text_encoding(path) or manager.get_encoding(path) for path in paths]
            print(json.dumps({"encodings": found}), flush=True)
            continue
        try:
            seen = executor(FileEditorAction(**request))
            blocks = [one.model_dump() for one in seen.content]
            answer = {"failed": bool(seen.is_error), "blocks": blocks}
        except Exception as error:
            answer = {"failed": True, "blocks": [{"type": "text", "text": str(error)}]}
        print(json.dumps(answer), flush=True)


main()
