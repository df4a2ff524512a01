"""Call the `file_editor` tool of OpenHands, in its own environment: one JSON object per line in, one answer out."""

from __future__ import annotations

import json
import sys

from openhands.tools.file_editor.definition import FileEditorAction
from openhands.tools.file_editor.impl import FileEditorExecutor


def main() -> None:
    executor = FileEditorExecutor()
    for line in sys.stdin:
        try:
            seen = executor(FileEditorAction(**json.loads(line)))
            blocks = [one.model_dump() for one in seen.content]
            answer = {"failed": bool(seen.is_error), "blocks": blocks}
        except Exception as error:
            answer = {"failed": True, "blocks": [{"type": "text", "text": str(error)}]}
        print(json.dumps(answer), flush=True)


main()
