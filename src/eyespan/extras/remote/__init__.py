"""Roots that are not on this machine: buckets (`s3://`, `gs://`, `az://`) and web servers (`http://`, `https://`).

    address      the text of a root: a URL, perhaps with a local name (`/data=s3://bucket/prefix`)
    store        what a store answers: ranges of objects of one version, and names; errors in plain words
    web          the client, by the standard library: one host, no redirects, bounded answers; web servers
    bucket       buckets, by that client
    endpoints    the address of a bucket's store
    credentials  those of the host, and their services
    signing      requests with credentials
    name_pages   pages of listings
    remote_file  an object as a `Source`
    root         a `StoreRoot`, which the guard treats as a directory; plugins may extend it
    network      the roots of this extra
    connector    a process beside a server in its sandbox, which connects to the store and finds its credentials
    plugin       the schemes

A remote root has the name of a directory, `/s3/bucket/prefix` or the host's own, so every dialect, rule and selector
works on it as on a local one. Credentials come from the environment of the host, never from a path or an argument.
"""
