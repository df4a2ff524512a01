"""The rows of this extra: what the core finds through `eyespan.plugins`."""

from __future__ import annotations

ROOTS = dict.fromkeys(("s3", "gs", "az", "http", "https"), "eyespan.extras.remote.network:NetworkRoot")
DEPENDENCIES = {"jwt": ("remote", "keys of Google service accounts; buckets need no extra")}
