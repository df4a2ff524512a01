"""The arguments that read one file, in any dialect, by the schema of its first tool."""

from __future__ import annotations


def arguments_for(tool, path):
    """Return the arguments of a call that reads `path`, which is absolute."""
    properties = tool.spec.input_schema["properties"]
    if "files" in properties and tool.dialect.name == "native":
        return {"files": path}
    if "files" in properties:
        return {"files": [{"path": path}]}
    for name in ("file_path", "filePath", "filepath", "path"):
        if name in properties:
            return {"command": "view", name: path} if "command" in properties else {name: path}
    raise AssertionError(f"no argument of {tool.spec.name} is a path")
