"""The rules between the options of a server."""

from __future__ import annotations

import pytest

from eyespan.server.serve_options import InvalidOptions, ServeOptions


def test_the_defaults_are_valid():
    ServeOptions().validate()


@pytest.mark.parametrize("options", [{"dialects": ("latin",)}, {"audit_required": True}])
def test_options_that_contradict_each_other_are_invalid(options):
    with pytest.raises(InvalidOptions):
        ServeOptions(**options).validate()
