"""Files of earlier revisions (`path@revision`), read from the git repository that contains the file.

No program is run. The repository is as untrusted as the rest of the workspace, and git itself obeys a repository's
configuration (monitors, filters, commands that fetch missing objects). Here its files are only read, through the guard,
so a working copy whose repository lies outside the roots has no revisions. Supported: loose objects and packs (version
2), SHA-1 and SHA-256, worktrees, alternates, loose and packed refs; of the revision syntax names, full and abbreviated
hashes, `@`, `~n`, `^n`, `^{}` and `^{commit}`. Replacements and grafts are ignored.

`at_revision` opens a file of a revision: `repository` finds the repository and opens its files, `revisions` resolves a
revision to a commit, `objects` reads objects and `packs` reads pack files. Each file of the repository is opened at
most once in a call.
"""
