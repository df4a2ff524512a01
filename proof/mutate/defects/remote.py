"""Defects in remote roots: listings, signatures, credentials, web servers, addresses."""

from proof.mutate.defect import SRC, Defect

REMOTE = f"{SRC}/extras/remote"
REDIRECTS = "tests/extras/remote/test_redirects.py"
LISTING = "tests/extras/remote/test_name_pages.py"
SIGNING = "tests/extras/remote/test_signing.py"
SOURCES = "tests/extras/remote/test_credential_sources.py"
WEB = "tests/extras/remote/test_web.py"
HUGE = "tests/extras/remote/test_huge.py"
CONNECTOR = "tests/extras/remote/test_connector.py"

DEFECTS = (
    Defect(
        name="a page of a listing may declare entities",
        file=f"{REMOTE}/name_pages.py",
        old="    parser.StartDoctypeDeclHandler = reader.refuse\n",
        new="",
        tests=f"{LISTING} -k hostile",
    ),
    Defect(
        name="a page may have any number of elements",
        file=f"{REMOTE}/name_pages.py",
        old="if self._count > MAX_PAGE_ELEMENTS:",
        new="if False:",
        tests=f"{LISTING} -k hostile",
    ),
    Defect(
        name="a page may have any size",
        file=f"{REMOTE}/name_pages.py",
        old="if len(data) > MAX_PAGE_BYTES or",
        new="if",
        tests=f"{LISTING} -k hostile",
    ),
    Defect(
        name="a key with DEL is listed",
        file=f"{REMOTE}/name_pages.py",
        old=' or char == "\\x7f" for',
        new=" for",
        tests=f"{LISTING} -k kept",
    ),
    Defect(
        name="a key with dots is listed",
        file=f"{REMOTE}/name_pages.py",
        old='name in ("", ".", "..")',
        new='name in ("", ".")',
        tests=f"{LISTING} -k kept",
    ),
    Defect(
        name="an expression on foreign text repeats without bound",
        file=f"{REMOTE}/store.py",
        old='_NUMBER = re.compile("[0-9]{1,18}")',
        new='_NUMBER = re.compile("[0-9]+")',
        tests=f"{LISTING} -k unbounded",
    ),
    Defect(
        name="odd keys are not counted",
        file=f"{REMOTE}/name_pages.py",
        old="            self.page.left_out += 1\n",
        new="            pass\n",
        tests=f"{LISTING} -k counted",
    ),
    Defect(
        name="keys of another prefix are listed",
        file=f"{REMOTE}/bucket.py",
        old="if any(not key.startswith(start) for",
        new="if any(False for",
        tests=f"{LISTING} -k another_prefix",
    ),
    Defect(
        name="a directory is listed to its end",
        file=f"{REMOTE}/bucket.py",
        old="            if len(directories) + len(objects) >= max_names:\n",
        new="            if not page.token and len(directories) + len(objects) >= max_names:\n",
        tests=f"{HUGE} -k million",
    ),
    Defect(
        name="a listing that does not end is followed",
        file=f"{REMOTE}/bucket.py",
        old="if page.token == token or empty_pages >= MAX_EMPTY_PAGES:",
        new="if False:",
        tests=f"{HUGE} -k not_end",
    ),
    Defect(
        name="a redirect is followed",
        file=f"{REMOTE}/web.py",
        old="                if found is not None:\n                    return found\n",
        new="                if found is not None or 300 <= status < 400:\n                    return found\n",
        tests=f"{REDIRECTS} -k within_the_store",
    ),
    Defect(
        name="the signature of S3 leaves the session out",
        file=f"{REMOTE}/signing.py",
        old='        headers["x-amz-security-token"] = credentials.session\n',
        new="        pass\n",
        tests=f"{SIGNING} -k session",
    ),
    Defect(
        name="the signature of Azure leaves the version out",
        file=f"{REMOTE}/signing.py",
        old='headers.get("If-Match", "")',
        new='""',
        tests=f"{SIGNING} -k azure",
    ),
    Defect(
        name="credentials are shown",
        file=f"{REMOTE}/signing.py",
        old='    secret: str = field(default="", repr=False)',
        new='    secret: str = field(default="")',
        tests=f"{SIGNING} -k shown",
    ),
    Defect(
        name="expired credentials are used",
        file=f"{REMOTE}/credentials.py",
        old="or self._current.expires < time.time() + RENEWED_SECONDS",
        new="",
        tests=f"{SOURCES} -k renewed",
    ),
    Defect(
        name="a map without odd keys is complete",
        file=f"{REMOTE}/root.py",
        old="is_complete and name != LEFT_OUT and",
        new="is_complete and",
        tests=f"{LISTING} -k counted",
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
        old="                if known is not None and current != known:\n",
        new="                if False:\n",
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
        tests="tests/extras/remote/test_faults.py -k one_fault",
    ),
    Defect(
        name="a file of any size is read whole",
        file=f"{REMOTE}/web.py",
        old="if length is None or (total := number(length)) > MAX_WHOLE_BYTES:",
        new="if length is None or (total := number(length)) < 0:",
        tests=f"{WEB} -k without_ranges",
    ),
    Defect(
        name="the rest of a body is taken for the next answer",
        file=f"{REMOTE}/web.py",
        old="            if is_done and len(self._idle) < MAX_IDLE:\n",
        new="            if not answer.will_close and len(self._idle) < MAX_IDLE:\n",
        tests=f"{WEB} -k connection",
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
        old="            if (host, int(port)) != server.place:\n",
        new='            server = Server(f"http://{host}:{port}", "")\n            if False:\n',
        tests=f"{CONNECTOR} -k refuses_other",
    ),
    Defect(
        name="a key that no request can hold is named by an error",
        file=f"{REMOTE}/signing.py",
        old='    if any(not "!" <= char <= "~" for char in',
        new='    if any(char > "~" for char in',
        tests="tests/extras/remote/test_credentials.py -k hold",
    ),
)
