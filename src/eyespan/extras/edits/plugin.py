"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

EDITS = "eyespan.extras.edits.contract"
