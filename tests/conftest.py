from __future__ import annotations

import os

os.environ.setdefault("EYESPAN_CACHE", "off")  # no test leaves anything in the user's cache folder
