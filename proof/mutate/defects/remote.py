"""Defects in remote roots: the relay, web servers, addresses."""

from proof.mutate.defect import SRC, Defect

REMOTE = f"{SRC}/extras/remote"
REDIRECTS = "tests/extras/remote/test_redirects.py"
RELAY = f"{REDIRECTS} -k password"
WEB = "tests/extras/remote/test_web.py"
HUGE = "tests/extras/remote/test_huge.py"
CONNECTOR = "tests/extras/remote/test_connector.py"

DEFECTS = (
    Defect(
        name="a relay needs no password",
        file=f"{REMOTE}/relay.py",
        old='        if headers.get("proxy-authorization") != self._expected:\n',
        new="        if False:\n",
        tests=RELAY,
    ),
    Defect(
        name="a relay sends requests to any host",
        file=f"{REMOTE}/relay.py",
        old='        if server is None or parts.scheme != "http":\n',
        new='        if server is None:\n            server = Server(target, "")\n        if parts.scheme != "http":\n',
        tests=RELAY,
    ),
    Defect(
        name="a relay takes requests with TLS",
        file=f"{REMOTE}/relay.py",
        old=' or parts.scheme != "http":\n',
        new=":\n",
        tests=RELAY,
    ),
    Defect(
        name="a relay tunnels to any host",
        file=f"{REMOTE}/relay.py",
        old="        server = self._tunnels.get(target.lower())\n",
        new='        server = Server(f"http://{target}", "")\n',
        tests=RELAY,
    ),
    Defect(
        name="a relay passes redirects on",
        file=f"{REMOTE}/relay.py",
        old='HOP_HEADERS | {"location", ',
        new="HOP_HEADERS | {",
        tests=f"{REDIRECTS} -k 'follows_a_redirect or within_the_store'",
    ),
    Defect(
        name="a relay passes the password on",
        file=f"{REMOTE}/relay.py",
        old='"proxy-connection", "proxy-authorization", "keep-alive"',
        new='"proxy-connection", "keep-alive"',
        tests=f"{REDIRECTS} -k relay",
    ),
    Defect(
        name="a relay takes a body of any size",
        file=f"{REMOTE}/relay.py",
        old="        if not 0 <= size_bytes <= MAX_BODY_BYTES:\n",
        new="        if False:\n",
        tests=f"{REDIRECTS} -k relay",
    ),
    Defect(
        name="a directory is listed to its end",
        file=f"{REMOTE}/relay.py",
        old="            if names > MAX_NAMES:\n",
        new="            if False:\n",
        tests=f"{HUGE} -k million",
    ),
    Defect(
        name="a listing that does not end is followed",
        file=f"{REMOTE}/relay.py",
        old="            if pages >= MAX_PAGES:\n",
        new="            if False:\n",
        tests=f"{HUGE} -k not_end",
    ),
    Defect(
        name="an odd key spoils a listing",
        file=f"{REMOTE}/relay.py",
        old='b"" if _is_odd(row, has_delimiter) else row[0]',
        new="row[0]",
        tests=f"{HUGE} -k spoil",
    ),
    Defect(
        name="metadata in IPv6 form is asked",
        file=f"{REMOTE}/web.py",
        old="(address.ipv4_mapped, address.sixtofour, *teredo)",
        new="()",
        tests=f"{WEB} -k metadata",
    ),
    Defect(
        name="metadata behind a translator is asked",
        file=f"{REMOTE}/web.py",
        old="        if any(address in network for network in _EMBEDDING):\n",
        new="        if False:\n",
        tests=f"{WEB} -k metadata",
    ),
    Defect(
        name="a name that leads to metadata is connected to",
        file=f"{REMOTE}/web.py",
        old="        if not self._may_be_metadata and any(is_metadata",
        new="        if False and any(is_metadata",
        tests=f"{WEB} -k metadata",
    ),
    Defect(
        name="an answer mixes two versions",
        file=f"{REMOTE}/web.py",
        old="            if version is not None and current != version:\n",
        new="            if False:\n",
        tests=f"{WEB} -k version",
    ),
    Defect(
        name="another range than the requested one is taken",
        file=f"{REMOTE}/web.py",
        old="                if not start == first <= last == min(start + size_bytes, total) - 1:\n",
        new="                if False:\n",
        tests="tests/extras/remote/test_faults.py -k shifted",
    ),
    Defect(
        name="a body that breaks off is taken for the whole",
        file=f"{REMOTE}/web.py",
        old="    if len(data) < size_bytes:\n",
        new="    if False:\n",
        tests=f"{WEB} -k fault",
    ),
    Defect(
        name="a file of any size is read whole",
        file=f"{REMOTE}/web.py",
        old="if length is None or (total := _number(length)) > MAX_WHOLE_BYTES:",
        new="if length is None or (total := _number(length)) < 0:",
        tests=f"{WEB} -k without_ranges",
    ),
    Defect(
        name="the rest of a body is taken for the next answer",
        file=f"{REMOTE}/web.py",
        old="        if is_done and not answer.will_close and len(self._idle) < MAX_IDLE:\n",
        new="        if not answer.will_close and len(self._idle) < MAX_IDLE:\n",
        tests=f"{WEB} -k 'fault or connection'",
    ),
    Defect(
        name="`..` leaves the prefix of a bucket",
        file=f"{REMOTE}/root.py",
        old="                    raise OutsideRoot(asked)\n                parts.pop()\n",
        new="                    continue\n                parts.pop()\n",
        tests="tests/extras/remote/test_bucket.py -k no_key",
    ),
    Defect(
        name="a root may hold credentials",
        file=f"{REMOTE}/address.py",
        old='    if "@" in host:\n',
        new="    if False:\n",
        tests="tests/extras/remote/test_address.py tests/extras/remote/test_credentials.py -k 'refused'",
    ),
    Defect(
        name="the connector connects to any place",
        file=f"{SRC}/extras/remote/connector.py",
        old="            server = allowed.get((host, int(port)))\n",
        new='            server = Server(f"http://{host}:{port}", "")\n',
        tests=f"{CONNECTOR} -k refuses_other",
    ),
)
