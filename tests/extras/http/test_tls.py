"""HTTPS, with a certificate that changes while the server runs."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import sys
import time

import pytest

from eyespan.extras.http import tls
from eyespan.extras.http.http_server import MAX_OPENING
from eyespan.server.serve_options import InvalidOptions

from .test_listening import ask, end, start

openssl = pytest.mark.skipif(
    shutil.which("openssl") is None or sys.platform != "linux", reason="openssl makes the certificates"
)


def make(directory, name):
    """Make a key and a certificate for localhost, and return their paths."""
    paths = directory / f"{name}.crt", directory / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*command, "-keyout", str(paths[1]), "-out", str(paths[0])], check=True, capture_output=True)
    return paths


def name_and_status(port, trusted):
    """Return the name in the server's certificate, and the status of a request."""
    context = ssl.create_default_context()
    for path in trusted:
        context.load_verify_locations(path)
    with (
        socket.create_connection(("127.0.0.1", port), 30) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as link,
    ):
        subject = dict(pair for part in link.getpeercert()["subject"] for pair in part)
        return subject["commonName"], ask(link, f"127.0.0.1:{port}")[0]


@openssl
def test_a_certificate_is_replaced_while_the_server_runs(place, tmp_path):
    first, second = make(tmp_path, "first"), make(tmp_path, "second")
    used = tmp_path / "used.crt", tmp_path / "used.key"
    for source, target in zip(first, used, strict=True):
        shutil.copy(source, target)
    process, banner = start(place, "--http", "127.0.0.1:0", "--tls-cert", str(used[0]), "--tls-key", str(used[1]))
    port = int(banner.partition("https://127.0.0.1:")[2].partition("/")[0])
    trusted = [first[0], second[0]]
    found = [name_and_status(port, trusted)]
    with socket.create_connection(("127.0.0.1", port), 30) as plain:
        refused = ask(plain, f"127.0.0.1:{port}")[0]
    for source, target in zip(second, used, strict=True):
        shutil.copy(source, target)
    for _ in range(2000):
        found.append(name_and_status(port, trusted))
        if found[-1][0] == "second":
            break
        time.sleep(0.05)
    status = end(process)

    assert (found[0], found[-1]) == (("first", 200), ("second", 200))
    assert {each for _, each in found} == {200}
    assert refused == 0  # no HTTP on a port for HTTPS
    assert status == 0


@openssl
def test_a_key_of_another_certificate_is_refused(tmp_path):
    first, second = make(tmp_path, "first"), make(tmp_path, "second")

    with pytest.raises(InvalidOptions, match="cannot be used"):
        tls.context_of(*tls.load_files(str(first[0]), str(second[1])))


@openssl
def test_a_rejected_request_is_answered_over_tls_too(place, tmp_path):
    paths = make(tmp_path, "first")
    process, banner = start(place, "--http", "127.0.0.1:0", "--tls-cert", str(paths[0]), "--tls-key", str(paths[1]))
    port = int(banner.partition("https://127.0.0.1:")[2].partition("/")[0])
    context = ssl.create_default_context(cafile=str(paths[0]))
    with (
        socket.create_connection(("127.0.0.1", port), 30) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as link,
        contextlib.suppress(ssl.SSLEOFError),
    ):
        status = ask(link, "evil.example")[0]
    end(process)

    assert status == 421


@openssl
def test_handshakes_that_do_not_proceed_keep_no_client_out(place, tmp_path):
    paths = make(tmp_path, "first")
    process, banner = start(place, "--http", "127.0.0.1:0", "--tls-cert", str(paths[0]), "--tls-key", str(paths[1]))
    port = int(banner.partition("https://127.0.0.1:")[2].partition("/")[0])
    silent = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(MAX_OPENING + 10)]
    found = name_and_status(port, paths[:1])
    for link in silent:
        link.close()

    assert found == ("first", 200)
    assert end(process) == 0
