"""A plugin of pytest: property tests stop at the first example that fails."""

from __future__ import annotations

import hypothesis
from hypothesis import Phase


def pytest_sessionstart() -> None:
    """Change the settings that tests/conftest.py has loaded, before the tests are imported."""
    phases = (Phase.explicit, Phase.generate)  # without the search for a smaller example
    hypothesis.settings.register_profile("mutate", hypothesis.settings(), phases=phases)
    hypothesis.settings.load_profile("mutate")
