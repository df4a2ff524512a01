"""A small server of buckets: ranges, versions and listings of one bucket, as S3, Google or Azure answer.

It shares the faults of the web server.
"""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from .range_server import RangeServer

BUCKET = "data"


class BucketServer(RangeServer):
    """Serves `files` (bytes by key) as the bucket `data` of a scheme."""

    def __init__(self, scheme: str = "s3", tls=None) -> None:
        super().__init__(tls)
        self.page_size = 1000
        self.root = f"{scheme}://{BUCKET}"
        self._is_azure = scheme == "az"
        self.environment = environment_of(scheme, self.url.removesuffix("/files"))
        """The variables by which a client finds this server."""

    def answer(self, handler) -> None:
        """Answer as the store does."""
        parts = urlsplit(handler.path)
        query = parse_qs(parts.query)
        if "list-type" in query or "comp" in query:
            self._list(handler, query)
            return
        handler.path = "/files/" + unquote(parts.path).removeprefix(f"/{BUCKET}/")
        super().answer(handler)

    def _list(self, handler, query: dict[str, list[str]]) -> None:
        prefix = query.get("prefix", [""])[0]
        after = query.get("continuation-token", query.get("marker", [""]))[0]
        delimiter = query.get("delimiter", ["\0"])[0]
        page, directories, has_more = self.listed(prefix, after, delimiter)
        token = page[-1] if page else "more"
        body = (self._azure_page if self._is_azure else self._page)(page, directories, token if has_more else "")
        handler.send_response(200)
        handler.send_header("Content-Type", "application/xml")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def listed(self, prefix: str, after: str, delimiter: str) -> tuple[list[str], set[str], bool]:
        """Return the names of a page, which of them are directories, and whether there are more."""
        keys, directories = [], set()
        for key in sorted(self.files):
            if key.startswith(prefix):
                name, slash, _ = key[len(prefix) :].partition(delimiter)
                found = prefix + name + slash
                if found > after:
                    directories.add(found) if slash else keys.append(found)
        found = sorted([*keys, *directories])
        return found[: self.page_size], directories, len(found) > self.page_size

    def etag_of(self, name: str) -> str:
        return self.etags.get(name, '"one"')

    def _page(self, page: list[str], directories: set[str], token: str) -> bytes:
        rows = [
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            if name in directories
            else f"<Contents><Key>{escape(name)}</Key><Size>{len(self.files[name])}</Size>"
            f"<ETag>{escape(self.etag_of(name))}</ETag>"
            f"<LastModified>2026-11-02T00:00:00.000Z</LastModified></Contents>"
            for name in page
        ]
        more = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else ""
        return (
            f"<ListBucketResult><Name>{BUCKET}</Name><IsTruncated>{'true' if token else 'false'}</IsTruncated>"
            f"<KeyCount>{len(page)}</KeyCount>{more}{''.join(rows)}</ListBucketResult>"
        ).encode()

    def _azure_page(self, page: list[str], directories: set[str], token: str) -> bytes:
        rows = [
            f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>"
            if name in directories
            else f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>Mon, 02 Nov 2026 00:00:00 GMT"
            f"</Last-Modified><Etag>{self.etag_of(name)[1:-1]}</Etag>"
            f"<Content-Length>{len(self.files[name])}</Content-Length>"
            f"<Content-Type>text/plain</Content-Type></Properties></Blob>"
            for name in page
        ]
        return (
            f'<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="{BUCKET}">'
            f"<Blobs>{''.join(rows)}</Blobs><NextMarker>{escape(token)}</NextMarker></EnumerationResults>"
        ).encode()


def environment_of(scheme: str, endpoint: str) -> dict[str, str]:
    """Return the variables by which a client finds a store, with credentials."""
    if scheme == "gs":
        return {"GOOGLE_BASE_URL": endpoint, "GOOGLE_BEARER_TOKEN": "word-of-the-host"}
    if scheme == "az":
        return {
            "AZURE_STORAGE_ENDPOINT": endpoint,
            "AZURE_STORAGE_ACCOUNT_NAME": "account",
            "AZURE_STORAGE_ACCOUNT_KEY": "d29yZC1vZi10aGUtaG9zdA==",
        }
    return {
        "AWS_ENDPOINT": endpoint,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "word-of-the-host",
        "AWS_REGION": "us-east-1",
    }
