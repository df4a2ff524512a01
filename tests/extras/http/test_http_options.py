"""The options of a server over HTTP, and the rules between them."""

from __future__ import annotations

import pytest

from eyespan.extras.http.http_options import HttpOptions, is_loopback
from eyespan.server.serve_options import InvalidOptions


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "::1"])
def test_only_this_machine_reaches_a_loopback_address(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1.evil.org", "127.1", "localhost.evil.org", "::", "10.0.0.1"])
def test_any_other_address_may_be_reached_from_elsewhere(host):
    assert not is_loopback(host)


def test_the_defaults_are_valid():
    HttpOptions().validate()


@pytest.mark.parametrize(
    "options",
    [
        {"dialects": ("latin",)},
        {"http": ("0.0.0.0", 80)},
        {"http": ("0.0.0.0", 80), "allow_remote": True, "no_token": True},
        {"no_token": True, "tokens": "x"},
        {"oauth_issuer": "https://i"},
        {"oauth_issuer": "https://i", "oauth_resource": "https://r", "tokens": "x"},
        {"oauth_scopes": ("read",)},
        {"tls_cert": "x"},
        {"tls_cert": "x", "tls_key": "y", "http": ("unix:/x", 0)},
    ],
)
def test_options_that_contradict_each_other_are_invalid(options):
    with pytest.raises(InvalidOptions):
        HttpOptions(**options).validate()
