"""The decoders of the worker, by task: `module:function`, imported in the worker process only.

The task of a document is the name of its kind; its decoder stands in the row of that kind. Outlines, and what extras
do with source code (`LANGUAGE_TASKS`), have one task for each language. The encoding of a text is guessed by another.
"""

from __future__ import annotations

from eyespan import kinds, plugins
from eyespan.outline import installed, languages

_OF_LANGUAGES = {
    "outline": "eyespan.decoders.outlines",
    **{task: module for tasks in plugins.own("LANGUAGE_TASKS") for task, module in tasks.items()},
}
DECODERS = {
    **{kind.name: kind.decoder for kind in kinds.rows() if kind.decoder},
    "encoding": "eyespan.decoders.encoding:decode",
    **{f"{task}-{name}": f"{module}:decode_{name}" for task, module in _OF_LANGUAGES.items() for name in languages()},
}


def installed_decoder(task: str) -> str:
    """Return the decoder of a task that an installed plugin adds, or ""."""
    language = task.removeprefix("outline-")
    if language != task and any(plugin.row.name == language for plugin in installed()):
        return f"eyespan.decoders.outlines:decode_{language}"
    return next((plugin.row.decoder for plugin in kinds.installed() if plugin.row.name == task), "")
