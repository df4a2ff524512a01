"""`eyespan view`: a page on this machine that shows exactly what a model receives.

api       the answers of the page's requests, as plain values
activity  the reads of a server, from its audit log
server    HTTP on a loopback address, with tokens, a cookie and strict headers
page/     HTML, style and script, as they are served
"""

from __future__ import annotations
