"""The options of `eyespan serve`."""

from __future__ import annotations

import dataclasses

import pytest

from eyespan.cli.main import command_parser
from eyespan.cli.options import UsageError
from eyespan.cli.serve import parse_words
from eyespan.extras.http.http_options import HttpOptions
from eyespan.server.serve_options import ServeOptions


def test_without_options_the_defaults_apply():
    assert parse_words([]) == ServeOptions()


def test_options_are_set_by_name():
    words = ["--dialect=codex", "--dialect", "claude", "--http", "127.0.0.1:80", "--timeout", "3"]

    assert parse_words(words) == HttpOptions(dialects=("codex", "claude"), http=("127.0.0.1", 80), timeout_seconds=3.0)


def test_the_sandbox_can_be_left_off():
    assert parse_words(["--no-sandbox"]) == ServeOptions(no_sandbox=True)


def test_every_option_is_a_field():
    fields = {option.dest for section in command_parser("serve").sections().values() for option in section}

    own = {field.name for field in dataclasses.fields(HttpOptions)}
    assert fields - own == {"roots", "config", "map", "help", "version", "no_plugins"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nonsense"], "serve has no option --nonsense"),
        (["--dialect"], "needs a value"),
        (["--dialect="], "needs a value"),
        (["--structured=yes"], "takes no value"),
        (["--dialect", "latin"], "no dialect 'latin'"),
        (["--http", "8080"], "HOST:PORT"),
        (["--http", "127.0.0.1:99999"], "HOST:PORT"),
        (["--http", "::1:80"], "brackets"),
        (["--http", "0.0.0.0:80"], "--allow-remote"),
        (["--http", "example.org:80"], "--allow-remote"),
        (["--http", "0.0.0.0:80", "--allow-remote", "--no-token"], "loopback"),
        (["--http", "127.0.0.1:80", "--no-token", "--token-file", "x"], "contradicts"),
        (["--http", "127.0.0.1:80", "--oauth-issuer", "https://i"], "need each other"),
        (["--http", "127.0.0.1:80", "--oauth-scope", "read"], "--oauth-issuer"),
        (["--workers", "0"], "from 1 to"),
        (["--rate", "many"], "from 1 to"),
        (["--rate", "9" * 5000], "from 1 to"),
        (["--timeout", "0"], "seconds"),
        (["--timeout", "nan"], "seconds"),
        (["--audit-required"], "--audit FILE"),
        (["--allow-origin", "https://x"], "--allow-origin works only with --http"),
        (["--tokens", "x"], "--tokens works only with --http"),
        (["--no-token"], "--no-token works only with --http"),
        (["--view"], "--view works only with --http"),
        (["--workers", "2"], "--workers works only with --http"),
    ],
)
def test_wrong_options_are_a_usage_error(words, message):
    with pytest.raises(UsageError, match=message):
        parse_words(words)
