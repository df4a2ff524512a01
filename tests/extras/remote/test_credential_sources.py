"""Every way to find the credentials of a host, with services of our own."""

from __future__ import annotations

import http.server
import json
import threading
import time

import pytest

from eyespan.extras.remote.credentials import CredentialSource
from eyespan.extras.remote.signing import Credentials

FIELDS = {"AccessKeyId": "key", "SecretAccessKey": "secret", "Token": "session", "Expiration": "2100-01-01T00:00:00Z"}
AWS = Credentials("aws", "key", "secret", "session", 4102444800.0)
STS = "".join([f"<{name.replace('Token', 'SessionToken')}>{value}</x>" for name, value in FIELDS.items()])
TOKEN = {"access_token": "word", "expires_in": 3600}


class Service:
    """Answers from `answers` by method and path, and keeps the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, object] = {}
        self.seen: list[tuple[str, dict[str, str], str]] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                name = f"{self.command} {self.path}"
                outer.seen.append((name, dict(self.headers), body))
                answer = outer.answers.get(name)
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_PUT = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service():
    service = Service()
    yield service
    service.close()


def found(scheme, environ):
    return CredentialSource(scheme, environ).current()


def test_variables_come_first():
    variables = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}

    assert found("s3", variables) == Credentials("aws", "key", "secret")
    assert found("s3", {**variables, "AWS_SKIP_SIGNATURE": "true"}) == Credentials()
    assert found("gs", {"GOOGLE_BEARER_TOKEN": "word"}) == Credentials("bearer", secret="word")
    account = {"AZURE_STORAGE_ACCOUNT_NAME": "name", "AZURE_STORAGE_ACCOUNT_KEY": "key"}
    assert found("az", account) == Credentials("azure", "name", "key")
    assert found("az", {"AZURE_STORAGE_SAS_TOKEN": "sig=x"}) == Credentials("query", secret="sig=x")
    assert found("az", {"AZURE_STORAGE_TOKEN": "word"}) == Credentials("bearer", secret="word")


def test_a_profile_is_read(tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        "[default]\naws_access_key_id = a\naws_secret_access_key = b%c\n"
        "[other]\naws_access_key_id = d\naws_secret_access_key = e\naws_session_token = f\n"
    )

    assert found("s3", {"HOME": str(tmp_path)}) == Credentials("aws", "a", "b%c")
    assert found("s3", {"HOME": str(tmp_path), "AWS_PROFILE": "other"}) == Credentials("aws", "d", "e", "f")


def test_a_web_identity_is_exchanged(service, tmp_path):
    (tmp_path / "token").write_text("identity\n")
    service.answers = {"POST /": STS}
    variables = {"AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"), "AWS_ROLE_ARN": "arn:role"}

    assert found("s3", {**variables, "AWS_ENDPOINT_URL_STS": service.url}) == AWS
    assert "RoleArn=arn%3Arole" in service.seen[0][2]
    assert "WebIdentityToken=identity" in service.seen[0][2]


def test_a_container_is_asked(service):
    service.answers = {"GET /creds?x=1": FIELDS}
    variables = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{service.url}/creds?x=1"}

    assert found("s3", {**variables, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "word"}) == AWS
    assert service.seen[0][1]["Authorization"] == "word"


def test_an_instance_is_asked_with_a_session(service):
    roles = "GET /latest/meta-data/iam/security-credentials/"
    service.answers = {"PUT /latest/api/token": "word", roles: "role", f"{roles}role": FIELDS}

    assert found("s3", {"AWS_METADATA_ENDPOINT": service.url}) == AWS
    assert service.seen[2][1]["X-aws-ec2-metadata-token"] == "word"


def test_a_refresh_token_of_google_is_exchanged(service, tmp_path):
    service.answers = {"POST /token": TOKEN}
    key = {"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r"}
    (tmp_path / "key.json").write_text(json.dumps({**key, "token_uri": f"{service.url}/token"}))
    credentials = found("gs", {"GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "key.json")})

    assert (credentials.kind, credentials.secret) == ("bearer", "word")
    assert "grant_type=refresh_token" in service.seen[0][2]


def test_the_key_of_a_service_account_signs_a_claim(service):
    jwt = pytest.importorskip("jwt", reason="pyjwt is not installed")
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa", reason="cryptography is not installed")
    from cryptography.hazmat.primitives import serialization as form

    private = rsa.generate_private_key(65537, 2048)
    pem = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()).decode()
    service.answers = {"POST /token": TOKEN}
    key = {"client_email": "me@x", "private_key": pem, "private_key_id": "1", "token_uri": f"{service.url}/token"}
    credentials = found("gs", {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(key)})
    claim = service.seen[0][2].partition("assertion=")[2]

    assert credentials.secret == "word"
    assert jwt.decode(claim, private.public_key(), ["RS256"], audience=key["token_uri"])["iss"] == "me@x"


def test_an_instance_of_google_is_asked(service):
    path = "GET /computeMetadata/v1/instance/service-accounts/default/token"
    service.answers = {path: TOKEN}

    assert found("gs", {"GCE_METADATA_HOST": service.url.removeprefix("http://")}).secret == "word"
    assert service.seen[0][1]["Metadata-Flavor"] == "Google"


@pytest.mark.parametrize("secret", [{"AZURE_CLIENT_SECRET": "s"}, {"AZURE_FEDERATED_TOKEN_FILE": "token"}])
def test_a_client_of_azure_gets_a_token(secret, service, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("identity")
    service.answers = {"POST /tenant/oauth2/v2.0/token": TOKEN}
    variables = {"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "tenant", "AZURE_AUTHORITY_HOST": f"{service.url}/"}

    assert found("az", {**variables, **secret}).secret == "word"
    assert ("client_secret=s" in service.seen[0][2]) != ("client_assertion=identity" in service.seen[0][2])


def test_the_managed_identity_of_azure_is_asked(service):
    query = "?resource=https%3A%2F%2Fstorage.azure.com&api-version=2019-08-01"
    service.answers = {f"GET /msi{query}": TOKEN, f"GET /own{query}": TOKEN}

    assert found("az", {"AZURE_MSI_ENDPOINT": f"{service.url}/msi"}).secret == "word"
    assert found("az", {"IDENTITY_ENDPOINT": f"{service.url}/own", "IDENTITY_HEADER": "h"}).secret == "word"
    assert service.seen[1][1]["X-IDENTITY-HEADER"] == "h"


def test_credentials_are_kept_and_renewed_before_they_expire(service):
    service.answers = {"GET /msi?resource=https%3A%2F%2Fstorage.azure.com&api-version=2019-08-01": TOKEN}
    source = CredentialSource("az", {"AZURE_MSI_ENDPOINT": f"{service.url}/msi"})
    first = source.current()

    assert source.current() is first
    source._current = Credentials("bearer", secret="old", expires=time.time() + 10)
    assert source.current().secret == "word"
    assert len(service.seen) == 2


@pytest.mark.parametrize("answer", ["", "[]", "{", "{}", '{"access_token": 1}', "x" * 70_000])
def test_an_answer_that_makes_no_sense_gives_none(answer, service):
    service.answers = {"GET /msi?resource=https%3A%2F%2Fstorage.azure.com&api-version=2019-08-01": answer}

    assert found("az", {"AZURE_MSI_ENDPOINT": f"{service.url}/msi"}) is None
