"""The rows of this extra: what the core finds through `eyespan.plugins`."""
