"""Roots that are not on this machine: buckets (`s3://`, `gs://`, `az://`) and web servers (`http://`, `https://`).

    address      the text of a root: a URL, perhaps with a local name (`/data=s3://bucket/prefix`)
    store        what a store answers: ranges of objects of one version, and names; errors in plain words
    bucket       buckets, by obstore
    endpoints    the addresses of a bucket's store and of the services of its credentials
    relay        sends the requests of obstore to those and to no others, and follows no redirect
    web          web servers, by the standard library, because obstore follows redirects to any host
    remote_file  an object as a `Source`
    root         a `StoreRoot`, which the guard treats as a directory; plugins may extend it
    network      the roots of this extra
    connector    a process beside a server in its sandbox, which connects to the store
    plugin       the schemes

A remote root has the name of a directory, `/s3/bucket/prefix` or the host's own, so every dialect, rule and selector
works on it as on a local one. Credentials come from the environment of the host, never from a path or an argument.
"""
