"""Insert deliberate defects, one at a time, in a copy of the checkout, and check that a test fails.

    python -m proof mutate [--only WORD...] [--whole] [--list]

Each defect is one change of text in one file, together with the tests that are expected to fail. Those run first. If
they pass, the whole suite runs with `--whole`; otherwise the defect has survived. A survivor is a missing test, or a
change without effect, which is then listed with the reason. Prints a table. The exit status is 1 if a defect survived
that has no such reason, or if a text to change is not found exactly once; `make test` checks the latter too.
"""
