"""Sources that are not files on disk: a range of another source, decompressed bytes.

    nested   the classes of such sources
    streams  decompression
    zips     members of zip archives
    members  the members of an archive, of any format
    cache    tables of contents, and checkpoints of decompression

Each is a `Source` like those of the guard, so readers treat all alike. Archives and compressed files are read with them
by the extra `archives`, office documents by `documents`, objects of repositories by `git`.
"""
