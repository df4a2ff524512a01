"""Agent frameworks and model APIs: the public name of `eyespan.extras.hosts`.

`eyespan.hosts.langchain`, `openai_agents`, `pydantic_ai` and `google_adk` are modules of their own.
"""

from __future__ import annotations

from eyespan.extras import hosts as _hosts
from eyespan.extras.hosts import *  # noqa: F403 - its `__all__`
from eyespan.extras.hosts import __all__ as __all__

__path__ = _hosts.__path__
