"""A small S3 server: ranges, versions and listings of one bucket. It shares the faults of the web server."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from .range_server import RangeServer

BUCKET = "data"


class BucketServer(RangeServer):
    """Serves `files` (bytes by key) as the bucket `data`."""

    def __init__(self) -> None:
        super().__init__()
        self.page_size = 1000

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which obstore finds this server."""
        return {
            "AWS_ENDPOINT": self.url.removesuffix("/files"),
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "word-of-the-host",
            "AWS_REGION": "us-east-1",
        }

    def answer(self, handler) -> None:
        """Answer as S3 does."""
        parts = urlsplit(handler.path)
        query = parse_qs(parts.query)
        if "list-type" in query:
            self._list(handler, query)
            return
        handler.path = "/files/" + unquote(parts.path).removeprefix(f"/{BUCKET}/")
        super().answer(handler)

    def _list(self, handler, query: dict[str, list[str]]) -> None:
        prefix = query.get("prefix", [""])[0]
        after = query.get("continuation-token", [""])[0]
        delimiter = query.get("delimiter", ["\0"])[0]
        keys, directories = [], set()
        for key in sorted(self.files):
            if key.startswith(prefix):
                name, slash, _ = key[len(prefix) :].partition(delimiter)
                found = prefix + name + slash
                if found > after:
                    directories.add(found) if slash else keys.append(found)
        found = sorted([*keys, *directories])
        page, rest = found[: self.page_size], found[self.page_size :]
        rows = [
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            if name in directories
            else f"<Contents><Key>{escape(name)}</Key><Size>{len(self.files[name])}</Size><ETag>one</ETag>"
            f"<LastModified>2026-11-02T00:00:00.000Z</LastModified></Contents>"
            for name in page
        ]
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if rest else ""
        body = (
            f"<ListBucketResult><Name>{BUCKET}</Name><IsTruncated>{'true' if rest else 'false'}</IsTruncated>"
            f"<KeyCount>{len(page)}</KeyCount>{more}{''.join(rows)}</ListBucketResult>"
        ).encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/xml")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
