"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

FORGIVE = "eyespan.extras.pasted.forgive:forgive"
ARGUMENTS = "eyespan.extras.pasted.foreign"
