"""Write docs/native-transcript.md: calls of the native tool over MCP, as a new user would make them, and the answers.

    python tools/native_transcript.py

Starts the server on copies of the sample and the test fixtures, sends every call as a client does and writes the
answers, so that the page shows what the tool does. Images are named, not shown.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent.parent
PAGE = HERE / "docs" / "native-transcript.md"

CALLS = [
    ("The names in a directory", {"files": "."}),
    ("A method by its name, the first lines of a document",
     {"files": ["harbor.py::Harbour.moor", "office/harbor.docx:1-5"]}),
    ("The symbols of a file", {"files": "harbor.py", "outline": True}),
    ("Ranges that overlap, and a name that is wrong", {"files": ["harbor.py:1-4", "harbor.py:3-5,33-", "habor.py"]}),
    ("A place, as a compiler prints it", {"files": "harbor.py:22:9"}),
    ("A small budget", {"files": "office/page.html", "budget": 150}),
    ("The rest, by its selector", {"files": ["{left}"], "budget": 150}),
    ("The end of a file", {"files": "harbor.py:-4"}),
    ("The same again, with the hash in hand", {"files": "harbor.py:-4", "known": ["{hash}"]}),
    ("A page, a cell of a notebook, cells of a sheet",
     {"files": ["pdfs/book.pdf:p2", "notebooks/tides.ipynb:c2", "office/ledger.xlsx:Ledger!A1:C3"]}),
    ("A line past the end, a wrong directory, a wrong symbol",
     {"files": ["harbor.py:900", "ofice/harbor.docx", "harbor.py::Harbour.more"]}),
]  # fmt: skip


class Client:
    """One conversation with a server over stdio."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._in, self._out = server.stdin, server.stdout
        self._id = 0

    def tell(self, method: str, **params: object) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, **params: object) -> dict[str, object]:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        answer = json.loads(self._out.readline())
        assert answer["id"] == self._id
        return answer["result"]

    def _send(self, message: dict[str, object]) -> None:
        self._in.write(json.dumps(message) + "\n")
        self._in.flush()


def shown(reply: dict) -> str:
    blocks = [block["text"] if block["type"] == "text" else f"[{block['type']} block]" for block in reply["content"]]
    return "\n".join(blocks)


def transcript(root: Path) -> str:
    command = [sys.executable, "-m", "eyespan", "serve", "--root", str(root)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        client = Client(server)
        who = {"name": "transcript", "version": "1"}
        client.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
        client.tell("notifications/initialized")
        [tool] = client.ask("tools/list")["tools"]
        parts = [
            "# The native tool over MCP: a transcript\n",
            "Calls of a model and the answers of the server, made by `tools/native_transcript.py`.\n",
            f"The server lists one tool, `{tool['name']}`:\n\n> {tool['description']}\n",
        ]
        left, value = "", ""
        for title, arguments in CALLS:
            asked = json.loads(json.dumps(arguments).replace("{left}", left).replace("{hash}", value))
            reply = client.ask("tools/call", name=tool["name"], arguments=asked)
            facts = reply.get("_meta", {}).get("eyespan/facts", {})
            left = (facts.get("left_out") or [left])[0]
            value = next((part["hash"] for part in facts.get("parts", []) if "hash" in part), value)
            words = json.dumps(asked, ensure_ascii=False)
            parts.append(f"## {title}\n\n```json\n{words}\n```\n\n```\n{shown(reply)}\n```\n")
        server.stdin.close()
        server.wait(10)
    return "\n".join(parts)


def page() -> str:
    """Return the text of the page."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        shutil.copy(HERE / "examples" / "sample" / "harbor.py", root)
        for name in ("office", "pdfs", "notebooks"):
            shutil.copytree(HERE / "tests" / "fixtures" / name, root / name)
        return transcript(root)


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
