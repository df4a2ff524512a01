"""Credentials of the host for a bucket: from its environment, its files, or the service of its instance.

In this order:

    S3      `AWS_ACCESS_KEY_ID`; a web identity (`AWS_WEB_IDENTITY_TOKEN_FILE`); the profile of `~/.aws/credentials`;
            the container; the instance
    Google  `GOOGLE_BEARER_TOKEN`; a key file (`GOOGLE_APPLICATION_CREDENTIALS` and others) or gcloud's; the instance
    Azure   an account key; a SAS; a token; a client with a secret or a federated token; the managed identity

Nothing else is asked. Services without TLS are those of instances and containers; no redirect is followed.
"""

from __future__ import annotations

import configparser
import json
import math
import os
import socket
import time
from _thread import allocate_lock
from collections.abc import Mapping
from datetime import datetime
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from eyespan.errors import Missing, StoreFailure
from eyespan.extras.remote.signing import Credentials
from eyespan.extras.remote.web import Server, asking

MAX_FILE_BYTES = 1 << 20
MAX_ANSWER_BYTES = 1 << 16
ASK_CREDENTIALS = b"credentials"
"""The request to a connector; it answers with the fields of `Credentials`, as JSON."""
CONNECTOR_SECONDS = 30.0
"""The wait for its answer: several services may be asked, each for a few seconds."""
RENEWED_SECONDS = 300.0
"""Credentials are renewed this long before they expire."""
_TRUE = ("1", "true", "yes", "on", "t", "y")
_GOOGLE_SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
_AZURE_RESOURCE = "https://storage.azure.com"


class CredentialSource:
    """Finds the credentials for one scheme, and renews those that expire."""

    def __init__(self, scheme: str, environ: Mapping[str, str], connector: socket.socket | None = None) -> None:
        """`connector` leads to a process that finds them for this one, which is in a sandbox."""
        self._scheme = scheme
        self._environ = environ
        self._connector = connector
        self._current: Credentials | None = None
        self._lock = allocate_lock()

    def current(self) -> Credentials | None:
        """Return valid credentials; None if this host has none."""
        with self._lock:
            if self._current is None or self._current.expires < time.time() + RENEWED_SECONDS:
                self._current = self._found() if self._connector is None else _found_by(self._connector)
            return self._current

    def _found(self) -> Credentials | None:
        prefix, finders = _FINDERS[self._scheme]
        if self._get(f"{prefix}_SKIP_SIGNATURE").lower() in _TRUE:
            return Credentials()
        for name in finders:
            try:
                if found := getattr(self, f"_{name}")():
                    return cast(Credentials, found)
            except (OSError, ValueError, LookupError, TypeError, HTTPException, StoreFailure):
                continue  # a service that does not answer, a file that is not there or damaged
        return None

    def _get(self, *names: str) -> str:
        """Return the first of these variables that is set."""
        return next((self._environ[name] for name in names if self._environ.get(name)), "")

    @property
    def ports(self) -> set[int]:
        """Return the ports of the services that may be asked."""
        places = [urlsplit(self._get(name)) for name in _SERVICE_VARIABLES]
        return {80, 443, *[place.port for place in places if place.port]}

    @property
    def directories(self) -> list[str]:
        """Return the directories of the files that may be read."""
        paths = [self._get(name) for name in _FILE_VARIABLES]
        return [os.path.dirname(os.path.abspath(path)) for path in [*paths, *self._home_files()] if path]

    def _home_files(self) -> list[str]:
        home = self._environ.get("HOME", "")
        config = self._get("XDG_CONFIG_HOME") or f"{home}/.config"
        return [f"{home}/.aws/credentials", f"{config}/gcloud/application_default_credentials.json"] if home else []

    def _file(self, path: str) -> str:
        with open(path, encoding="utf-8") as file:
            return file.read(MAX_FILE_BYTES)

    def _ask(self, url: str, method: str = "GET", body: Mapping[str, str] | None = None, **headers: str) -> bytes:
        """Return the answer of a service. Raises: OSError, HTTPException, StoreFailure."""
        parts = urlsplit(url)
        server = Server(url, "the service of credentials", may_be_metadata=parts.scheme == "http")
        data = urlencode(body).encode() if body else b""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        try:
            status, answer = server.exchange(method, target, sent, data, MAX_ANSWER_BYTES)
        finally:
            server.close()
        if status != 200:
            raise ValueError("refused")
        return answer

    def _json(self, *arguments: Any, **headers: Any) -> dict[str, Any]:
        return dict(_parsed(self._ask(*arguments, **headers)))

    # S3

    def _aws_variables(self) -> Credentials | None:
        name, secret = self._get("AWS_ACCESS_KEY_ID"), self._get("AWS_SECRET_ACCESS_KEY")
        return (
            Credentials("aws", name, secret, self._get("AWS_SESSION_TOKEN", "AWS_TOKEN")) if name and secret else None
        )

    def _aws_web_identity(self) -> Credentials | None:
        path, role = self._get("AWS_WEB_IDENTITY_TOKEN_FILE"), self._get("AWS_ROLE_ARN")
        if not path or not role:
            return None
        region = self._get("AWS_REGION", "AWS_DEFAULT_REGION") or "us-east-1"
        body = {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": "2011-06-15",
            "RoleArn": role,
            "RoleSessionName": self._get("AWS_ROLE_SESSION_NAME") or "eyespan",
            "WebIdentityToken": self._file(path).strip(),
        }
        answer = self._ask(self._get("AWS_ENDPOINT_URL_STS") or f"https://sts.{region}.amazonaws.com/", "POST", body)
        text = answer.decode()
        names = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
        fields = {name: text.partition(f"<{name}>")[2].partition("<")[0] for name in names}
        return _aws_fields({**fields, "Token": fields["SessionToken"]})

    def _aws_profile(self) -> Credentials | None:
        path = self._get("AWS_SHARED_CREDENTIALS_FILE") or self._home_files()[0]
        profiles = configparser.ConfigParser(interpolation=None)
        profiles.read_string(self._file(path))
        profile = profiles[self._get("AWS_PROFILE") or "default"]
        session = profile.get("aws_session_token", "")
        return Credentials("aws", profile["aws_access_key_id"], profile["aws_secret_access_key"], session)

    def _aws_container(self) -> Credentials | None:
        relative = self._get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        url = f"http://169.254.170.2{relative}" if relative else self._get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        if not url:
            return None
        path = self._get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
        word = self._file(path).strip() if path else self._get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
        return _aws_fields(self._json(url, **({"Authorization": word} if word else {})))

    def _aws_instance(self) -> Credentials | None:
        base = self._get("AWS_METADATA_ENDPOINT").rstrip("/") or "http://169.254.169.254"
        word = self._ask(f"{base}/latest/api/token", "PUT", X_aws_ec2_metadata_token_ttl_seconds="600").decode()
        roles = f"{base}/latest/meta-data/iam/security-credentials/"
        role = self._ask(roles, X_aws_ec2_metadata_token=word).decode().split()[0]
        return _aws_fields(self._json(roles + quote(role), X_aws_ec2_metadata_token=word))

    # Google

    def _google_token(self) -> Credentials | None:
        token = self._get("GOOGLE_BEARER_TOKEN")
        return Credentials("bearer", secret=token) if token else None

    def _google_key(self) -> Credentials | None:
        text = self._get("GOOGLE_SERVICE_ACCOUNT_KEY")
        key = _parsed(text or self._file(self._get(*_GOOGLE_KEYS) or self._home_files()[1]))
        if key.get("type") == "authorized_user":
            body = {name: key[name] for name in ("client_id", "client_secret", "refresh_token")}
            body["grant_type"] = "refresh_token"
        else:
            try:
                import jwt
            except ImportError:
                install = "pip install 'eyespan[remote]'"
                raise Missing("", what="the key of a service account", install=install) from None
            now = int(time.time())
            claims = {"iss": key["client_email"], "scope": _GOOGLE_SCOPE, "iat": now, "exp": now + 3600}
            claims["aud"] = key.get("token_uri", _GOOGLE_TOKENS)
            word = jwt.encode(claims, key["private_key"], "RS256", headers={"kid": key.get("private_key_id", "")})
            body = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": word}
        return _bearer(self._json(key.get("token_uri", _GOOGLE_TOKENS), "POST", body))

    def _google_instance(self) -> Credentials | None:
        host = self._get("GCE_METADATA_HOST", "GCE_METADATA_ROOT") or "metadata.google.internal"
        path = "computeMetadata/v1/instance/service-accounts/default/token"
        return _bearer(self._json(f"http://{host}/{path}", Metadata_Flavor="Google"))

    # Azure

    def _azure_variables(self) -> Credentials | None:
        if key := self._get("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY"):
            return Credentials("azure", self._get("AZURE_STORAGE_ACCOUNT_NAME"), key)
        if query := self._get("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"):
            return Credentials("query", secret=query)
        token = self._get("AZURE_STORAGE_TOKEN")
        return Credentials("bearer", secret=token) if token else None

    def _azure_client(self) -> Credentials | None:
        client = self._get("AZURE_CLIENT_ID", "AZURE_STORAGE_CLIENT_ID")
        tenant = self._get("AZURE_TENANT_ID", "AZURE_STORAGE_TENANT_ID", "AZURE_STORAGE_AUTHORITY_ID")
        secret = self._get("AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_SECRET")
        path = self._get("AZURE_FEDERATED_TOKEN_FILE")
        if not client or not tenant or not (secret or path):
            return None
        body = {"client_id": client, "scope": f"{_AZURE_RESOURCE}/.default", "grant_type": "client_credentials"}
        if secret:
            body["client_secret"] = secret
        else:
            body["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
            body["client_assertion"] = self._file(path).strip()
        host = self._get("AZURE_AUTHORITY_HOST").rstrip("/") or "https://login.microsoftonline.com"
        return _bearer(self._json(f"{host}/{quote(tenant, safe='')}/oauth2/v2.0/token", "POST", body))

    def _azure_instance(self) -> Credentials | None:
        query = {"resource": _AZURE_RESOURCE, "api-version": "2019-08-01"}
        if client := self._get("AZURE_CLIENT_ID", "AZURE_STORAGE_CLIENT_ID"):
            query["client_id"] = client
        if url := self._get("IDENTITY_ENDPOINT"):
            return _bearer(self._json(f"{url}?{urlencode(query)}", X_IDENTITY_HEADER=self._get("IDENTITY_HEADER")))
        url = self._get("AZURE_MSI_ENDPOINT") or "http://169.254.169.254/metadata/identity/oauth2/token"
        return _bearer(self._json(f"{url}?{urlencode(query)}", Metadata="true"))


_GOOGLE_TOKENS = "https://oauth2.googleapis.com/token"
_GOOGLE_KEYS = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_APPLICATION_CREDENTIALS")
_FILE_VARIABLES = (
    *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
    *(*_GOOGLE_KEYS, "AZURE_FEDERATED_TOKEN_FILE"),
)
_SERVICE_VARIABLES = (
    *("AWS_ENDPOINT_URL_STS", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_METADATA_ENDPOINT", "AZURE_AUTHORITY_HOST"),
    *("IDENTITY_ENDPOINT", "AZURE_MSI_ENDPOINT"),
)
_FINDERS = {
    "s3": ("AWS", ("aws_variables", "aws_web_identity", "aws_profile", "aws_container", "aws_instance")),
    "gs": ("GOOGLE", ("google_token", "google_key", "google_instance")),
    "az": ("AZURE", ("azure_variables", "azure_client", "azure_instance")),
}
"""The start of the variables of each scheme, and the methods that find its credentials, in their order."""


def _parsed(text: str | bytes) -> Any:
    """Raises: ValueError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _found_by(connector: socket.socket) -> Credentials | None:
    """Return the credentials that another process finds. Raises: OSError."""
    with asking(connector, ASK_CREDENTIALS, CONNECTOR_SECONDS) as reply, reply.makefile("rb") as answer:
        fields = _parsed(answer.read(MAX_FILE_BYTES) or b"null")
    return None if fields is None else Credentials(**fields)


def _aws_fields(fields: Mapping[str, str]) -> Credentials:
    expires = datetime.fromisoformat(fields["Expiration"]).timestamp() if "Expiration" in fields else math.inf
    return Credentials("aws", fields["AccessKeyId"], fields["SecretAccessKey"], fields.get("Token", ""), expires)


def _bearer(answer: Mapping[str, Any]) -> Credentials:
    return Credentials("bearer", secret=str(answer["access_token"]), expires=time.time() + float(answer["expires_in"]))
