"""The rules between the options of a server."""

from __future__ import annotations

import pytest

from eyespan.server.serve_options import InvalidOptions, ServeOptions, is_loopback, validate


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "::1"])
def test_only_this_machine_reaches_a_loopback_address(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1.evil.org", "127.1", "localhost.evil.org", "::", "10.0.0.1"])
def test_any_other_address_may_be_reached_from_elsewhere(host):
    assert not is_loopback(host)


def test_the_defaults_are_valid():
    validate(ServeOptions())


@pytest.mark.parametrize(
    "options",
    [
        {"dialects": ("latin",)},
        {"audit_required": True},
        {"http": ("0.0.0.0", 80)},
        {"http": ("0.0.0.0", 80), "allow_remote": True, "no_token": True},
        {"http": ("127.0.0.1", 80), "no_token": True, "tokens": "x"},
        {"http": ("127.0.0.1", 80), "oauth_issuer": "https://i"},
        {"http": ("127.0.0.1", 80), "oauth_issuer": "https://i", "oauth_resource": "https://r", "tokens": "x"},
        {"http": ("127.0.0.1", 80), "oauth_scopes": ("read",)},
    ],
)
def test_options_that_contradict_each_other_are_invalid(options):
    with pytest.raises(InvalidOptions):
        validate(ServeOptions(**options))
