"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

RESOURCES = "eyespan.extras.resources.handlers:Resources"
SUBSCRIPTIONS = "eyespan.extras.resources.polling:Subscriptions"
