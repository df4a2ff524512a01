"""Measure the lines and branches of guard, lines, readers and decoders that their own tests run.

    python -m proof coverage                              needs `pip install coverage`

Prints the missing lines and both shares. The exit status is 1 if a test fails, if a line is missing, or if fewer than
98 of 100 branches were taken: docs/security.md promises both. Three runs are combined: the tests as they are; the tests
of documents with the decoders in the process of the tests, since a sandboxed process can write no record; and the tests
of guard and lines without the C accelerator.
"""
