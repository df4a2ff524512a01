"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

REVISIONS = "eyespan.extras.git.at_revision:open_at"
DIFFERENCE = "eyespan.extras.git.differences:difference"
