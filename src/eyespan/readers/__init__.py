"""Readers: one module for each kind of file, or for several kinds of the same form.

All have one function `read(opened, selection, context) -> Document`. A reader with `stream` can also yield the parts
one after the other. A reader knows the bytes through `opened.source` and the decoding process through `opened.decode`;
it opens no files and starts no processes.
"""
