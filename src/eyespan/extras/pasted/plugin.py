"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

INTERPRETATIONS = "eyespan.extras.pasted.interpretations:interpretations"
SPELLINGS = "eyespan.extras.pasted.interpretations:spellings"
