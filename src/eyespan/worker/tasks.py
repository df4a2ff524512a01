"""The decoders of the worker, by task: `module:function`, imported in the worker process only.

The task of a document is the name of its kind; its decoder stands in the row of that kind. Grammars have one task for
each language.
"""

from __future__ import annotations

from eyespan.kinds import KINDS

LANGUAGES = (
    "javascript",
    "typescript",
    "tsx",
    "go",
    "rust",
    "java",
    "c",
    "cpp",
    "csharp",
    "ruby",
    "php",
    "bash",
    "kotlin",
    "scala",
    "swift",
    "lua",
)
DECODERS = {
    **{kind.name: kind.decoder for kind in KINDS if kind.decoder},
    **{f"outline-{language}": f"eyespan.decoders.grammars:decode_{language}" for language in LANGUAGES},
}
