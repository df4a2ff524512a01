"""The MCP server over streamable HTTP, on asyncio and httptools; stateless, so any worker answers any request.

app              starts the server
http_worker      one process that serves the socket
supervisor       starts and replaces several workers
http_server      everything that the connections of one process share
connection       the socket of one client: the order of its requests, its phases and its end
request_parser   bytes to requests
exchange         one request and its answer
admission        which requests are answered: checks, token, rate
checks           the checks of a request, as pure functions
incoming         one request while it is received
inbox            the memory of all requests that wait
eviction         decisions about connections, as pure functions
streamable       MCP in HTTP: bodies and headers to messages, answers to statuses; pure functions
call_pool        reads in threads
page/            the page of `eyespan view` and `/view`
read_ring        the latest reads, for the page
caller_services  the service of each caller
listening        the listening socket: TCP, local, or passed by systemd
reload           tokens and certificates that change while the server runs
tls              certificates
metrics          Prometheus metrics, summed over the workers
trimming         returns free memory to the system
auth/            tokens, OAuth, rate limits
log              messages on standard error
notify           messages to systemd
"""
