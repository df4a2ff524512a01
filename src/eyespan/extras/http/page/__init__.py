"""The page that shows exactly what a model receives: `eyespan view`, and `/view` of the HTTP server.

api           the answers of the page's requests, as plain values
colors        styles of source text in answers
activity      the reads of a server, from its audit log
view_command  `eyespan view`
local_server  HTTP on a loopback address, with tokens, a cookie and strict headers
served        the page at `/view`, for the callers of a server
static_files  HTML, style and script, as they are served
"""
