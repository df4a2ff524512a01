"""The MCP server for a build without `eyespan serve`: `python serve.py DIRECTORY DIALECT`."""

from __future__ import annotations

import sys

from eyespan.server import main, parse
from eyespan.workspace import Workspace

folder, dialect = sys.argv[1:]
options = parse(["--dialect", dialect])
options.settings = {"forge": {"max_scan_bytes": 1 << 62}} if dialect == "forge" else {}
sys.exit(main(lambda roots: Workspace(*(roots or [folder])), options))
