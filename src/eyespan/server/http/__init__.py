"""The MCP server over streamable HTTP, on the official SDK; stateless, so any worker answers any request.

app          starts the server
services     the service of each caller
bridge       the SDK's handlers
checks       what a request must pass before the SDK sees it
worker       one process that serves the socket
supervisor   starts and replaces several workers
metrics      Prometheus metrics, summed over the workers
memory       returns free memory to the system
"""
