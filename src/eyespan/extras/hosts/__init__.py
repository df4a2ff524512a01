"""Agent frameworks, model APIs and host programs; `eyespan.hosts` has the public names."""
