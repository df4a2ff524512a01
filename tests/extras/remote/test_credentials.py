"""Credentials of the host appear nowhere: no answer, error, log, audit line, text of an object or pickle."""

from __future__ import annotations

import itertools
import logging
import pickle

import pytest

from eyespan import CallContext, Workspace
from eyespan.cli.main import main
from eyespan.extras.remote import web
from eyespan.server.service import Service

from .bucket_server import BUCKET, BucketServer
from .range_server import hangs, status

SECRETS = {
    "AWS_ACCESS_KEY_ID": "AKIAPLANTEDKEYNAME01",
    "AWS_SECRET_ACCESS_KEY": "planted/secret+word0123456789abcdefghij",
    "AWS_SESSION_TOKEN": "planted-session-token-0123456789",
    "GOOGLE_SERVICE_ACCOUNT_KEY": '{"private_key": "planted-private-key"}',
    "AZURE_STORAGE_ACCOUNT_KEY": "cGxhbnRlZC1henVyZS1rZXk=",
    "AZURE_STORAGE_SAS_TOKEN": "sig=planted-sas-token",
}
SIGNS = [*SECRETS.values(), "planted", "X-Amz-Signature", "X-Amz-Credential"]


def echo(handler):
    """Answer with an error that repeats everything the client sent."""
    body = f"<Error><Message>{handler.path} {handler.headers}</Message></Error>".encode()
    handler.send_response(400)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


FAULTS = [status(403), status(404), status(500), status(307, Location="http://127.0.0.1:1/x"), echo, hangs(0.1), None]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(web, "REQUEST_SECONDS", 0.05)
    monkeypatch.setattr(web, "FIRST_PAUSE_SECONDS", 0.001)
    server = BucketServer()
    for name, value in {**server.environment, **SECRETS}.items():
        monkeypatch.setenv(name, value)
    server.files = {"p/a.txt": b"one\n", "p/d/b.txt": b"two\n"}
    yield server
    server.close()


def assert_clean(text):
    assert [sign for sign in SIGNS if sign in text] == []


def test_nothing_that_is_shown_or_kept_holds_a_secret(server, caplog, capfd, tmp_path):
    caplog.set_level(logging.DEBUG)
    for fault, path in itertools.product(FAULTS, ["a.txt", "d", "missing"]):
        server.faults = [fault] * 8 if fault else []
        with Workspace(f"s3://{BUCKET}/p", deadline_seconds=5) as workspace:
            shown = [
                workspace.tool("native").call({"files": [path]}),
                workspace.tool("codex").call({"file_path": path}),
            ]
            shown += workspace.read_many([path])
            shown += [workspace, workspace.roots, workspace.roots[0].store(), workspace.roots[0].store().__dict__]
            assert_clean(repr(shown))
            assert_clean(repr(pickle.dumps(workspace)))
            assert_clean(repr(pickle.dumps(workspace.tool("native"))))
        server.faults = []
    capfd.readouterr()
    main(["--root", f"s3://{BUCKET}/p", "read", "a.txt", "missing"])
    main(["--root", f"s3://{BUCKET}/p", "export", ".", "--to", str(tmp_path / "out.jsonl")])
    out, err = capfd.readouterr()
    assert_clean(out + err + caplog.text + (tmp_path / "out.jsonl").read_text())


def test_the_audit_log_holds_no_secret(server, tmp_path):
    from eyespan.server.audit import Audit

    with Workspace(f"s3://{BUCKET}/p") as workspace:
        audit = Audit(str(tmp_path / "audit.jsonl"))
        service = Service(workspace, ["native"], audit=audit)
        for path in ("a.txt", "missing", "../x", "d"):
            server.faults = [echo] if path == "a.txt" else []
            service.handler("tools/call")({"name": "read", "arguments": {"files": [path]}}, "test", CallContext(5))
    assert_clean((tmp_path / "audit.jsonl").read_text())


@pytest.mark.parametrize(
    "root",
    [
        "https://name:planted@host/dir",
        "https://planted@host/dir",
        "https://host/dir?token=planted",
        "https://host/dir#planted",
        "s3://key:planted@bucket/p",
        "/data=https://name:planted@host",
        "s3://bucket/p?X-Amz-Signature=planted",
    ],
)
def test_a_root_with_credentials_is_refused_without_repeating_them(root, capfd):
    with pytest.raises(ValueError, match="root") as caught:
        Workspace(root)
    assert_clean(str(caught.value))
    assert main(["--root", root, "read", "a"]) != 0
    assert_clean("".join(capfd.readouterr()))


def test_a_key_that_is_none_is_refused_without_repeating_it(monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "planted")

    text = Workspace("az://container").tool("native").call({"files": ["a.txt"]}).text

    assert text.endswith("(az://container: the key or region of this host is invalid)")


@pytest.mark.parametrize("end", ["\n", "\r\nX: y", " ", "\x7f", "é", "漢"])
@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("s3://data", "AWS_ACCESS_KEY_ID"),
        ("s3://data", "AWS_SESSION_TOKEN"),
        ("s3://data", "AWS_REGION"),
        ("gs://data", "GOOGLE_BEARER_TOKEN"),
        ("az://data", "AZURE_STORAGE_SAS_TOKEN"),
        ("az://data", "AZURE_STORAGE_TOKEN"),
    ],
)
def test_a_key_that_no_request_can_hold_is_refused_without_repeating_it(root, name, end, monkeypatch, caplog, capfd):
    for needed in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(needed, "planted")
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:1")  # otherwise the region is a part of the address
    monkeypatch.setenv(name, f"planted{end}")

    text = Workspace(root).tool("native").call({"files": ["a.txt"]}).text

    assert text.endswith(f"({root}: the key or region of this host is invalid)")
    assert_clean("".join([text, caplog.text, *capfd.readouterr()]))
