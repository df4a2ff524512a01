"""Insert deliberate defects, one at a time, in a copy of the checkout, and check that a test fails.

    python -m proof mutate [--only WORD...] [--whole] [--list] [--jobs N]

Each defect is one change of text in one file, together with the tests that are expected to fail. Those run first. If
they pass, the whole suite runs with `--whole`; otherwise the defect has survived. A survivor is a missing test, or a
change without effect, which is then listed with the reason. Prints a table. At the end, the tests that failed run once
more, without a defect: one that fails again has noticed nothing. The exit status is 1 if there is such a test, if a
defect survived that has no such reason, or if a text to change is not found exactly once; `make test` checks the latter
too. Property tests try the same examples in every run (`first_example`), so the table is the same each time.
"""
