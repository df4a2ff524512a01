"""A pytest plugin for coverage: trace threads that `threading` did not start.

The guard starts its threads with `_thread`, which saves an import but installs no tracer. With this plugin each thread
first installs the tracer that `threading` would have installed. (If coverage uses `sys.monitoring`, there is no tracer
to install, and every thread is measured anyway.) Load it before the package: `-p proof.coverage.trace_threads`.
"""

from __future__ import annotations

import _thread
import sys
import threading

_start = _thread.start_new_thread


def _start_traced(function, args, kwargs=None):
    """Replace `_thread.start_new_thread`."""

    def run():
        sys.settrace(threading.gettrace())
        function(*args, **(kwargs or {}))

    return _start(run, ())


_thread.start_new_thread = _start_traced
