"""The Python peers as workers: `python peer.py NAME DIRECTORY`.

Each is called by its own read function, in process, with the nearest request that it has.
"""

from __future__ import annotations

import os
import sys

from common import Reader, serve

NAME, DIRECTORY = sys.argv[1], sys.argv[2]


class OpenHands(Reader):
    def __init__(self):
        import logging

        logging.disable(logging.CRITICAL)
        from openhands.tools.file_editor.editor import FileEditor

        self.editor = FileEditor()

    def window(self, path, start, count):
        return self._view(path, view_range=[start, start + count - 1] if start > 1 else [1, -1])

    def whole(self, path):
        return self._view(path)

    def _view(self, path, **more):
        result = self.editor(command="view", path=path, **more)
        if result.is_error:
            raise RuntimeError(result.text[:200])
        return result.text


class Kimi(Reader):
    def __init__(self):
        import asyncio
        from types import SimpleNamespace

        from kaos.path import KaosPath
        from kimi_cli.tools.file.read import Params, ReadFile

        self.params = Params
        arguments = SimpleNamespace(KIMI_WORK_DIR=KaosPath(DIRECTORY))
        self.tool = ReadFile(SimpleNamespace(builtin_args=arguments, additional_dirs=[]))
        self.loop = asyncio.new_event_loop()

    def window(self, path, start, count):
        return self._run(path=path, line_offset=start, n_lines=count).output

    def tail(self, path, count):
        return self._run(path=path, line_offset=-count, n_lines=count).output

    def _run(self, **arguments):
        result = self.loop.run_until_complete(self.tool(self.params(**arguments)))
        if result.is_error:
            raise RuntimeError(result.message[:200])
        return result


class DeepAgents(Reader):
    def __init__(self):
        from deepagents.backends.filesystem import FilesystemBackend
        from deepagents.backends.utils import format_content_with_line_numbers

        self.backend = FilesystemBackend(root_dir=DIRECTORY, virtual_mode=False)
        self.number = format_content_with_line_numbers

    def window(self, path, start, count):
        result = self.backend.read(path, start - 1, count)
        if result.error:
            raise RuntimeError(result.error[:200])
        return self.number(result.file_data["content"], start_line=start)


class Strands(Reader):
    def __init__(self):
        os.environ.setdefault("BYPASS_TOOL_CONSENT", "true")
        from strands_tools.file_read import file_read

        self.read = file_read

    def window(self, path, start, count):
        return self._call(path=path, mode="lines", start_line=start - 1, end_line=start - 1 + count)

    def whole(self, path):
        return self._call(path=path, mode="view")

    def many(self, paths):
        return [self._call(path=",".join(paths), mode="view")]

    def _call(self, **arguments):
        result = self.read({"toolUseId": "1", "name": "file_read", "input": arguments})
        text = "".join(piece.get("text", "") for piece in result["content"])
        if result["status"] != "success":
            raise RuntimeError(text[:200])
        return text


class LangChain(Reader):
    """A tool for whole files only: a window or a tail reads everything."""

    def __init__(self):
        import warnings

        warnings.simplefilter("ignore")
        from langchain_community.tools.file_management.read import ReadFileTool

        self.tool = ReadFileTool()

    def window(self, path, start, count):
        return self.tool._run(path)

    def tail(self, path, count):
        return self.tool._run(path)


PEERS = {
    "openhands-tools": OpenHands,
    "kimi-cli": Kimi,
    "deepagents": DeepAgents,
    "strands-agents-tools": Strands,
    "langchain-community": LangChain,
}

serve(PEERS[NAME])
