"""Roots by https: a server whose certificate is not valid is not read, and the reason is named."""

from __future__ import annotations

import datetime
import ssl

import pytest

from eyespan import Workspace

from .range_server import RangeServer

x509 = pytest.importorskip("cryptography.x509", reason="comes with the extra [oauth]")
DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.UTC)


def make(
    directory, name, *, issuer=None, names=("localhost",), start=NOW - DAY, end=NOW + DAY, common_name="localhost"
):
    """Write a certificate and its key; return the path of the file, the certificate and the key."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
    by, signing = (subject, key) if issuer is None else (issuer[1].subject, issuer[2])
    built = x509.CertificateBuilder(by, subject, key.public_key(), x509.random_serial_number(), start, end)
    if names:
        built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), False)
    if issuer is None:
        built = built.add_extension(x509.BasicConstraints(True, None), True)
        built = built.add_extension(x509.KeyUsage(*[False] * 5, True, True, False, False), True)  # signs certificates
    # Python 3.13 refuses certificates without the identifiers of keys.
    built = built.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    built = built.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), False)
    made = built.sign(signing, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = directory / f"{name}.pem"
    path.write_bytes(made.public_bytes(pem) + private)
    return path, made, key


SERVERS = {
    "another authority": ({"issuer": "other"}, "unable to get local issuer certificate"),
    "signed by itself": ({"issuer": None}, "self-signed certificate|self signed certificate"),
    "another name": ({"names": ("other.example",)}, "Hostname mismatch"),
    "the name only as a common name": ({"names": ()}, "Hostname mismatch"),
    "expired": ({"end": NOW - DAY / 2}, "certificate has expired"),
    "not yet valid": ({"start": NOW + DAY / 2}, "certificate is not yet valid"),
    "a wildcard of another level": ({"names": ("*.localhost",)}, "Hostname mismatch"),
}


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """Return a function that reads a file from a server with a certificate, as text."""
    trusted = make(tmp_path, "trusted", names=(), common_name="trusted")
    other = make(tmp_path, "other", names=(), common_name="other")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted[0]))
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # no proxy is asked
    monkeypatch.setenv("PYTHONHTTPSVERIFY", "0")

    def read(**how):
        by = {"trusted": trusted, "other": other, None: None}[how.pop("issuer", "trusted")]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(make(tmp_path, "server", issuer=by, **how)[0])
        server = RangeServer(context)
        server.files = {"a.txt": b"the text\n"}
        try:
            with Workspace(server.url.replace("127.0.0.1", "localhost"), deadline_seconds=20) as workspace:
                text = workspace.tool("native").call({"files": ["a.txt"]}).text
            return text, [path for path, _ in server.requests]
        finally:
            server.close()

    return read


def test_a_valid_certificate_is_accepted_though_a_proxy_is_set(answer):
    assert "the text" in answer()[0]


@pytest.mark.parametrize("name", SERVERS)
def test_a_certificate_that_is_not_valid_is_refused_with_its_reason(answer, name):
    how, reason = SERVERS[name]

    text, requests = answer(**how)

    assert requests == []
    assert "is not accepted" in text
    assert any(each in text for each in reason.split("|"))
    assert "SSL_CERT_FILE" in text
