"""Which requests are answered: the checks of their headers, the token, and the rate of its holder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from eyespan.errors import log_failure
from eyespan.extras.http import checks
from eyespan.extras.http.auth import Caller, IssuerUnavailable, OAuthIssuer
from eyespan.extras.http.auth.rate import RateLimiter
from eyespan.extras.http.checks import Rejected

if TYPE_CHECKING:
    from eyespan.extras.http.http_worker import WorkerSetup
    from eyespan.extras.http.incoming import Incoming


WITH_TOKEN = frozenset(("mcp", "metrics", "view", "view call"))
"""The routes that need a token."""
ANYONE = Caller("anyone")
"""The caller of every request if no token is required."""


Verdict = Caller | Rejected | None
"""The holder of a token; None is a wrong token."""


class Admission:
    """The rules of one server for its requests."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._authenticator = setup.authenticator
        self._slots = setup.slots
        self._rate = setup.options.rate
        self.metadata = b""
        """The metadata of the OAuth issuer."""
        self._challenge = "Bearer"
        metadata_path = None
        if isinstance(self._authenticator, OAuthIssuer):
            metadata_path = self._authenticator.metadata_path
            self.metadata = self._authenticator.metadata()
            self._challenge = self._authenticator.challenge()
        self._rules = checks.rules_of(setup.options, setup.port, metadata_path=metadata_path)
        self._failures = RateLimiter(checks.MAX_FAILURES, checks.MAX_FAILURES, slots=setup.slots, prefix="address ")
        self._verifying: set[asyncio.Task[Verdict]] = set()
        """The tasks of `verify`; the loop itself keeps no reference to them."""
        self._limiters: dict[tuple[int, str], RateLimiter] = {}

    def check(self, incoming: Incoming, address: str) -> None:
        """Check the headers of a request of this address, and set its route and caller. Raises: Rejected.

        A token of an issuer is not checked here. It becomes `incoming.unverified`, for `verify` and `check_caller`.
        """
        incoming.route = checks.check_head(incoming, self._rules)
        if incoming.route not in WITH_TOKEN:
            return
        token = None if self._authenticator is None else checks.bearer_token(incoming.headers)
        if isinstance(self._authenticator, OAuthIssuer):
            incoming.unverified = token
            if token is None:
                self.check_caller(incoming, None, address)
        elif self._authenticator is None:
            self.check_caller(incoming, ANYONE, address)
        else:
            self.check_caller(incoming, None if token is None else self._authenticator.find(token), address)

    def verify(self, token: str, loop: asyncio.AbstractEventLoop, done: Callable[[Verdict], None]) -> None:
        """Check a token of the issuer, whose keys may have to be fetched; call `done` in the loop."""
        issuer = self._authenticator
        assert isinstance(issuer, OAuthIssuer)
        self._verifying.add(task := loop.create_task(_verdict(issuer, token)))
        task.add_done_callback(self._verifying.discard)
        task.add_done_callback(lambda found: None if found.cancelled() else done(found.result()))

    def check_caller(self, incoming: Incoming, caller: Verdict, address: str) -> None:
        """Check everything about the headers that depends on the caller; None is a wrong token. Raises: Rejected."""
        if isinstance(caller, Rejected):
            raise caller
        if caller is None:
            raise self._wrong_token(address, has_token=b"authorization" in incoming.headers)
        incoming.caller = caller
        checks.check_method(incoming, incoming.route)
        if incoming.route in ("mcp", "view call"):
            checks.check_type(incoming.headers)
        if incoming.route != "metrics":
            self.check_rate(caller, is_page=incoming.route != "mcp")
            checks.check_length(incoming.headers)

    def _wrong_token(self, address: str, *, has_token: bool) -> Rejected:
        wait = self._failures.wait_seconds(address)
        detail = "a wrong token" if has_token else "no token; clients send `Authorization: Bearer TOKEN`"
        if wait:
            return Rejected(429, "token", f"{detail}, and too many before", retry_after=wait)
        return Rejected(401, "token", detail, authenticate=self._challenge)

    def check_rate(self, caller: Caller, *, is_page: bool = False) -> None:
        """Count a call of a caller. Raises: Rejected if there were too many.

        Requests of the page count separately, so that looking at the page takes nothing from the calls.
        """
        rate = caller.rate or self._rate
        prefix = "page " if is_page else "caller "
        limiter = self._limiters.get((rate, prefix))
        if limiter is None:
            limiter = self._limiters[rate, prefix] = RateLimiter(rate, slots=self._slots, prefix=prefix)
        wait = limiter.wait_seconds(caller.name)
        if wait:
            remedy = "raise `rate` in the table of tokens" if caller.rate else "start with a higher --rate"
            raise Rejected(
                429, "rate", f"{caller.name} made more than {rate} calls in a minute; {remedy}", retry_after=wait
            )


async def _verdict(issuer: OAuthIssuer, token: str) -> Verdict:
    try:
        return await issuer.caller(token)
    except IssuerUnavailable as error:
        return Rejected(503, "token", f"tokens of {issuer.issuer} cannot be checked: {error}", retry_after=1)
    except Exception as error:
        log_failure(error)
        return Rejected(503, "token", "the token cannot be checked", retry_after=1)
