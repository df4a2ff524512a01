"""The messages of a server on standard error: plain lines, or with `--log json` one JSON object per line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from eyespan.escape import valid_tree, visible
from eyespan.extras.http.auth.rate import RateLimiter

REFUSALS_PER_MINUTE = 60
REFUSALS_AT_ONCE = 10
"""Refused requests that are logged for each reason. A flood of them then fills no disk; metrics count every one."""


class Log:
    """Writes lines to standard error."""

    def __init__(self, is_json: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._is_json = is_json
        self._limiter = RateLimiter(REFUSALS_PER_MINUTE, REFUSALS_AT_ONCE, clock=clock)
        self._skipped: dict[str, int] = {}

    def write(self, event: str, message: str, **facts: Any) -> None:
        """Write one line. `event` and `facts` are for programs, `message` is for people."""
        if self._is_json:
            from eyespan.server import json_messages
            from eyespan.server.audit import timestamp

            line = {"time": timestamp(time.time()), "event": event, "message": message, **facts}
            text = b"".join(json_messages.dumps(valid_tree(line))).decode()
        else:
            text = f"eyespan serve: {visible(message)}"
        try:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # the log has no reader; requests are answered all the same

    def refused(self, status: int, reason: str, detail: str, address: str) -> None:
        """Write the reason for a refused request, unless there are too many for the same reason."""
        if self._limiter.wait_seconds(reason):
            self._skipped[reason] = self._skipped.get(reason, 0) + 1
            return
        skipped = self._skipped.pop(reason, 0)
        more = f" ({skipped} more were not logged)" if skipped else ""
        facts: dict[str, Any] = {"status": status, "reason": reason, "address": address}
        if skipped:
            facts["skipped"] = skipped
        self.write("refused", f"{status}: {detail}{more} [{address}]", **facts)
