"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

SUBSCRIPTIONS = "eyespan.extras.subscriptions.polling:Subscriptions"
