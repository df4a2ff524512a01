"""The MCP server over streamable HTTP, on asyncio and httptools; stateless, so any worker answers any request.

app              starts the server
worker           one process that serves the socket
supervisor       starts and replaces several workers
server           everything that the connections of one process share
connection       one connection: bytes to requests, answers to bytes
checks           the checks of a request, as pure functions
incoming         one request while it is received
inbox            the memory of all requests that wait
connections      decisions about connections, as pure functions
exchange         MCP in HTTP: bodies and headers to messages, answers to statuses; pure functions
calls            reads in threads
view             the page of `eyespan view`
activity         the latest reads, for the page
cancellation     requests that a notification stops, in any worker
services         the service of each caller
oauth_metadata   the metadata by which clients find the OAuth issuer
listening        the listening socket: TCP, local, or passed by systemd
reload           tokens and certificates that change while the server runs
tls              certificates
metrics          Prometheus metrics, summed over the workers
memory           returns free memory to the system
"""
