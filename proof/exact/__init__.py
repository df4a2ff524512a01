"""Compare what a caller gets with what is on disk: odd files, read to their end in every dialect.

    python -m proof exact [--files 10000] [--seed N] [--mcp DIALECT] [--dialect D...] [--directory DIR]

Each file is read as a model reads it: ask, look at the answer, ask for what follows, until the answer reports the end.
The text is put together again from the answers alone (numbers and gutters removed) and compared with the file. If the
document of a dialect loses something (long lines cut, CRLF shown as LF, invalid UTF-8 replaced), rules.py states the
rule, from the document and not from the code, and the text must be exactly the rule's result. A file that the document
refuses must be refused. Anything else is a failure: exit status 1.
"""
