"""Signatures equal the published examples of S3, and one that azurite accepted."""

from __future__ import annotations

import pytest

from eyespan.extras.remote.signing import AZURE_HEADERS, Credentials, StoreRequest, quoted_key, signed

# https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
EXAMPLE = Credentials("aws", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
HOST = "examplebucket.s3.amazonaws.com"
NOW = 1369353600  # 2013-05-24


@pytest.mark.parametrize(
    ("request_", "signature"),
    [
        (
            StoreRequest(HOST, "/test.txt", {}, {"Range": "bytes=0-9"}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            StoreRequest(HOST, "/", {"lifecycle": ""}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            StoreRequest(HOST, "/", {"max-keys": "2", "prefix": "J"}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
)
def test_a_signature_equals_the_example_of_s3(request_, signature):
    _, headers = signed(request_, EXAMPLE, "us-east-1", NOW)

    assert headers["authorization"].endswith(f"Signature={signature}")


def test_a_session_is_sent_and_signed():
    _, headers = signed(StoreRequest(HOST, "/"), Credentials("aws", "key", "secret", "word"), "us-east-1", NOW)

    assert headers["x-amz-security-token"] == "word"
    assert "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token," in headers["authorization"]


def test_a_request_to_azure_is_signed_with_its_range_and_version():
    key = Credentials("azure", "account", "d29yZC1vZi10aGUtaG9zdA==")
    range_ = {**AZURE_HEADERS, "Range": "bytes=0-9"}
    plain = StoreRequest("h", "/account/data/a%20b", {"comp": "list", "prefix": "a b"}, range_)
    versioned = StoreRequest("h", plain.path, plain.query, {**range_, "If-Match": '"one"'})
    target, headers = signed(plain, key, "", NOW)
    _, other = signed(versioned, key, "", NOW)

    assert target == "/account/data/a%20b?comp=list&prefix=a%20b"
    assert headers["x-ms-date"] == "Fri, 24 May 2013 00:00:00 GMT"
    assert headers["Authorization"] == "SharedKey account:N/8dsoGdJVtsBNbnkEegjs4cEp8ZknN+MkxCff1W0VE="
    assert other["Authorization"] == "SharedKey account:6DCEyWAjRUw6K2tNCNruoNMOzZAg2w9KHkECTwonc5I="


def test_tokens_and_shared_access_signatures_are_added():
    request = StoreRequest("h", "/c/k", {"comp": "list"}, AZURE_HEADERS)

    assert signed(request, Credentials("bearer", secret="t"), "")[1]["Authorization"] == "Bearer t"
    assert signed(request, Credentials("query", secret="?sv=1&sig=x"), "")[0] == "/c/k?comp=list&sv=1&sig=x"
    assert signed(StoreRequest("h", "/c/k"), Credentials("query", secret="sig=x"), "")[0] == "/c/k?sig=x"
    assert signed(request, Credentials(), "") == ("/c/k?comp=list", AZURE_HEADERS)


def test_no_secret_is_shown():
    assert repr(Credentials("aws", "name", "secret", "session")) == "Credentials(kind='aws', expires=inf)"


@pytest.mark.parametrize(
    ("key", "quoted"), [("a b/c+d~", "a%20b/c%2Bd~"), ("%2e?#", "%252e%3F%23"), ("\udcff", "%FF"), ("é", "%C3%A9")]
)
def test_a_key_is_quoted_exactly(key, quoted):
    assert quoted_key(key) == quoted
