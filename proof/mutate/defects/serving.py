"""Defects in the rules, in text handling and in the server."""

from proof.mutate.defect import SRC, Defect

DEFECTS = (
    # --- rules ---
    Defect(
        name="rules depend on case",
        file=f"{SRC}/policy.py",
        old="        return path.lower()\n",
        new="        return path\n",
        tests="tests/test_policy.py -k case",
    ),
    Defect(
        name="rules depend on invisible characters",
        file=f"{SRC}/policy.py",
        old=".casefold().translate(_dropped))",
        new=".casefold())",
        tests="tests/test_policy.py -k invisible",
    ),
    Defect(
        name="a directory's rule does not apply to its contents",
        file=f"{SRC}/policy.py",
        old='        if pattern.endswith("/"):\n',
        new="        if False:\n",
        tests="tests/test_policy.py -k grammar",
    ),
    Defect(
        name="a workspace's own file may allow",
        file=f"{SRC}/config.py",
        old="        if allow:\n",
        new="        if False:\n",
        tests="tests/test_config.py -k widen",
    ),
    # --- text ---
    Defect(
        name="lone surrogates reach the caller",
        file=f"{SRC}/escape.py",
        old="    except UnicodeEncodeError:\n        return False\n",
        new="    except UnicodeEncodeError:\n        return True\n",
        tests="tests/test_tool.py -k unicode",
    ),
    Defect(
        name="an index of another file is used",
        file=f"{SRC}/lines/cache.py",
        old="return index.stamp is not None and index.stamp == stamp_of(source.status)",
        new="return True",
        tests="tests/lines/test_index.py -k no_change",
    ),
    Defect(
        name="a damaged index is used",
        file=f"{SRC}/lines/cache.py",
        old="if digest(body) != data[-16:]:",
        new="if False:",
        tests="tests/lines/test_cache.py -k damaged",
    ),
    Defect(
        name="C counts all line feeds but the last",
        file=f"{SRC}/_native/fast.c",
        old="for (; n; n--, p++)",
        new="for (; n > 1; n--, p++)",
        tests="tests/_native/test_twins.py -k count",
    ),
    Defect(
        name="C takes surrogates for characters",
        file=f"{SRC}/_native/fast.c",
        old="lead == 0xED ? 0x9F : 0x8F",
        new="lead == 0xED ? 0xBF : 0x8F",
        tests="tests/_native/test_twins.py",
    ),
    # --- the server ---
    Defect(
        name="any Host is accepted",
        file=f"{SRC}/server/http/checks.py",
        old=" or host[0].lower() not in self._hosts",
        new="",
        tests="tests/server/http/test_checks.py -k rejected_request",
    ),
    Defect(
        name="any Origin is accepted",
        file=f"{SRC}/server/http/checks.py",
        old="(len(origin) != 1 or origin[0].lower() not in self._origins)",
        new="len(origin) != 1",
        tests="tests/server/http/test_checks.py -k rejected_request",
    ),
    Defect(
        name="a body of any length",
        file=f"{SRC}/server/http/checks.py",
        old="                if len(body) > MAX_BODY_BYTES:\n",
        new="                if False:\n",
        tests="tests/server/http/test_checks.py -k chunks",
    ),
    Defect(
        name="any token is accepted",
        file=f"{SRC}/server/auth/tokens.py",
        old="if hmac.compare_digest(digest, given):",
        new="if digest[:1]:",
        tests="tests/server/auth/test_tokens.py -k in_full",
    ),
    Defect(
        name="a token file that others can read",
        file=f"{SRC}/server/auth/tokens.py",
        old="stat.S_IMODE(mode) & 0o077",
        new="stat.S_IMODE(mode) & 0",
        tests="tests/server/auth/test_tokens.py -k others_can_read",
    ),
    Defect(
        name="tokens meant for other servers",
        file=f"{SRC}/server/auth/oauth.py",
        old='"require": ["exp", "iss", "aud"]',
        new='"require": ["exp", "iss", "aud"], "verify_aud": False',
        tests="tests/server/auth/test_oauth.py -k access_tokens",
    ),
    Defect(
        name="wrong tokens may be tried for ever",
        file=f"{SRC}/server/http/checks.py",
        old="wait = self._failures.wait_seconds(address)",
        new="wait = 0.0",
        tests="tests/server/http/test_checks.py -k right_one_wait",
    ),
)
