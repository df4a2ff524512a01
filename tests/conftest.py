from __future__ import annotations

import os

import hypothesis

os.environ.setdefault("EYESPAN_CACHE", "off")  # no test leaves anything in the user's cache folder

# Nothing in the tests is timed: a busy machine must not turn them red.
hypothesis.settings.register_profile("eyespan", deadline=None)
hypothesis.settings.load_profile("eyespan")
