"""The arguments of `eyespan serve`."""

from __future__ import annotations

import pytest

from eyespan.server import HELP, ServeOptions, Usage, main, parse
from eyespan.server.options import is_loopback


def test_nothing_asked_for_is_stdio():
    assert parse([]) == ServeOptions()


def test_both_spellings_of_a_value():
    assert parse(["--dialect=codex", "--dialect", "claude", "--http", "127.0.0.1:80"]) == ServeOptions(
        dialects=("codex", "claude"), http=("127.0.0.1", 80)
    )


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--nonsense"], "does not know '--nonsense'"),
        (["extra"], "does not know 'extra'"),
        (["--dialect"], "needs a value"),
        (["--dialect="], "needs a value"),
        (["--rich=yes"], "takes no value"),
        (["--dialect", "latin"], "no dialect 'latin'"),
        (["--http", "8080"], "HOST:PORT"),
        (["--http", "127.0.0.1:99999"], "HOST:PORT"),
        (["--http", "::1:80"], "brackets"),
        (["--http", "0.0.0.0:80"], "--allow-remote"),
        (["--http", "example.org:80"], "--allow-remote"),
        (["--http", "0.0.0.0:80", "--allow-remote", "--no-token"], "loopback"),
        (["--http", "127.0.0.1:80", "--no-token", "--token-file", "x"], "no sense"),
        (["--http", "127.0.0.1:80", "--oauth-issuer", "https://i"], "go together"),
        (["--http", "127.0.0.1:80", "--oauth-scope", "read"], "--oauth-issuer"),
        (["--workers", "0"], "from 1 to"),
        (["--rate", "many"], "from 1 to"),
        (["--timeout", "0"], "seconds"),
        (["--timeout", "nan"], "seconds"),
        (["--audit-required"], "--audit FILE"),
        (["--allow-origin", "https://x"], "--allow-origin is for --http"),
        (["--no-token"], "--no-token is for --http"),
    ],
)
def test_what_makes_no_sense_is_said(argv, words):
    with pytest.raises(Usage, match=words.replace("(", r"\(")):
        parse(argv)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "::1"])
def test_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1.evil.org", "127.1", "localhost.evil.org", "::", "10.0.0.1"])
def test_not_loopback(host):
    assert not is_loopback(host)


def test_help_names_every_option(capsys):
    from eyespan.server import options

    status = main(lambda roots: None, parse(["--help"]))

    known = {*options._FLAGS, *options._TEXTS, *options._LISTS, *options._NUMBERS, "--http", "--timeout"}
    assert status == 0
    assert capsys.readouterr().out == HELP
    assert [name for name in known - {"-h", "--help"} if name not in HELP] == []
