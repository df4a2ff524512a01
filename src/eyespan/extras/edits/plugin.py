"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

CHANGED = "eyespan.extras.edits.contract:changed"
UNSEEN = "eyespan.extras.edits.contract:unseen"
CHANGES = "eyespan.extras.edits.contract:Changes"
