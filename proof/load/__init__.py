"""Run the HTTP server under load: many clients, some of them hostile; every answer is compared with the disk.

    python -m proof load                                  64 clients, ten minutes
    python -m proof load --seconds 15 --clients 16        a short run

Starts a real `eyespan serve --http` on a tree of its own and sends requests from several processes. A well-behaved
client X

The exit status is 0 if no byte was wrong, every refusal was the documented one, and the server and its decoder at rest
after the run hold no more descriptors, threads or memory than at rest after the warm-up. One line of JSON and one table
row of Markdown go to standard output; broken promises go to standard error.
"""
