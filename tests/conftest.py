from __future__ import annotations

import os

import hypothesis

from sizes import examples

os.environ.setdefault("EYESPAN_CACHE", "off")  # No test writes to the user's cache directory.

# No deadline: nothing in the tests is timed, so that a busy machine cannot make them fail.
hypothesis.settings.register_profile("eyespan", deadline=None, max_examples=examples(100))
hypothesis.settings.load_profile("eyespan")
