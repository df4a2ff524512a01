"""Everything that the core can be taught: one package per extra, each with a `plugin.py` that lists its rows.

archives    archives and compressed files
documents   office files, sheets, mail, web pages, tables, the layout of PDFs
languages   outlines of more languages, maps
edits       what edit tools ask about reads
families    the read tools of other programs
http        MCP over HTTP and the page
remote      buckets and web servers
bulk        many files at once
hosts       adapters for model APIs and agent frameworks
git         files of revisions, and differences between them
pasted      what other programs print, read as places in files
operations  the state of an installation: doctor, completions, manual
resources   files as MCP resources, and notifications over stdio when they change

The core imports none of them; `eyespan.plugins` finds their rows by name. They import each other only through it.
"""
