"""A pytest plugin for measuring coverage: threads that were not made by `threading` are traced too.

The guard starts its threads by `_thread`, which costs no import and tells no tracer. Here each of them first takes up
the tracer that `threading` would have given it. (Where coverage uses `sys.monitoring` there is none to take up, and
every thread is seen anyway.) To be loaded before the package is: `-p trace_threads`.
"""

from __future__ import annotations

import _thread
import sys
import threading

_start = _thread.start_new_thread


def _start_traced(function, args, kwargs=None):
    """As `_thread.start_new_thread`."""

    def run():
        sys.settrace(threading.gettrace())
        function(*args, **(kwargs or {}))

    return _start(run, ())


_thread.start_new_thread = _start_traced
