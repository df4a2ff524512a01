"""The spellings of a name, in which it is judged, and the marks by which programs name copies."""

from __future__ import annotations

from functools import cache
from unicodedata import normalize

COMPRESSION_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".zstd", ".lzma")
BACKUP_SUFFIXES = ("~", ".bak", ".backup", ".old", ".orig", ".save", ".swp", ".swo")
SUFFIXES = (*COMPRESSION_SUFFIXES, *BACKUP_SUFFIXES, "::$data")  # the last: another spelling of a file on NTFS
TRAILING = " .\t\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029\0"
ARCHIVE_WORDS = ("zip", "zipx", "7z", "rar", "tar", "tgz", "tbz", "tbz2", "txz", "tzst", "taz", "cab", "cpio", "iso")
"""The suffixes of archives. An archive with the name of a denied file holds that file."""
_WORDS = """
    bak backup back bk bkp old orig save saved copy tmp temp new lock prev previous disabled off part crdownload
    br lz lz4 lzo sz z b64 base64 txt local remote base mine theirs rej kopie copie copia kopia dpkg-old
    download filepart pacnew pacsave pacorig apk-new dpkg-remove this other
    dpkg-new dpkg-dist dpkg-bak dpkg-tmp rpmsave rpmnew rpmorig ucf-old ucf-new ucf-dist kate-swp un~ swn swx
"""
COPY_WORDS = (*_WORDS.split(), "- copy", "- kopie", "- copie", "- copia", *ARCHIVE_WORDS)
COPY_SIGNS = ".-_ "
"""The characters before a word or a number that marks a copy."""
COPY_STARTS = (
    *(".#", "._", "~$", ".~lock.", "copy of ", "backup of ", "kopie von ", "copie de ", "copia de "),
    *[f"{word}{sign}" for word in ("copy", "backup", "bak", "old") for sign in COPY_SIGNS],
)
COPY_FIRST_SIGNS = frozenset("0123456789 ")
"""The first character of a name with a number or a date before it."""
CONFLICT = "conflict"
CONFLICTS = (".sync-conflict", *[f"{sign}{CONFLICT}" for sign in COPY_SIGNS])
"""The marks of programs that synchronise directories. Anything can follow them."""
DATE_SIGNS = "0123456789tz:+-_. "
MAX_DATE_CHARS = 40
HIDING_SUFFIXES = (".un~", ".swp", ".swo", ".swn", ".swx", ".kate-swp")
"""The suffixes of files that editors hide: they write `.notes.un~` for `notes`."""
MAX_SHORTER_NAMES = 8
"""Names between the written one and the one without any suffix that are judged too."""
MAX_RECODED_CHARS = 1 << 14
"""The characters of a path, from its end, that are read by other encodings."""


def spellings(path: str) -> list[list[str]]:
    """Return the names of a path in every spelling that is judged: as written first, then in normal form."""
    folded = fold(path)
    written = [part for part in folded.split("/") if part not in ("", ".")]
    if not written:
        return []
    written_forms = [written]
    bare = bare_parts(folded.replace("\\", "/").split("/"))
    if bare:
        *directories, last = bare
        shorter = [names_without_suffixes(name)[-1] for name in directories]
        for name in names_without_suffixes(last):
            written_forms += [[*directories, name], [*shorter, name]]
    written_forms += [resolved(parts) for parts in written_forms if ".." in parts]
    unique = {tuple(parts): parts for parts in written_forms if parts}
    return list(unique.values())


def names_without_suffixes(name: str) -> list[str]:
    """Return a folded name, then what remains as the suffixes of compression and backups are removed one by one."""
    names = [name]
    if not name.endswith(SUFFIXES):
        return names
    end = len(name)
    is_swap_file = False
    while True:
        for suffix in SUFFIXES:
            if name.endswith(suffix, 0, end):
                break
        else:
            break
        shorter = end - len(suffix)
        while shorter and name[shorter - 1] in TRAILING:
            shorter -= 1
        if not shorter:
            break
        end = shorter
        is_swap_file = is_swap_file or suffix in HIDING_SUFFIXES
        if len(names) < MAX_SHORTER_NAMES:
            names.append(name[:end])
    if end < len(name):
        names.append(name[:end])
    if is_swap_file:  # vim writes `.notes.swp` for `notes`, and `.env.swp` for `.env`
        names += [shorter_name[1:] for shorter_name in names if shorter_name[0] == "." and len(shorter_name) > 1]
    return names


def in_other_codecs(path: str) -> list[str]:
    """Return the readings of a path whose bytes were decoded by another encoding than the one they were written in."""
    decoded = []
    path = path[-MAX_RECODED_CHARS:]
    raw = path.encode("utf-8", "surrogateescape" if not any(map(_is_odd_surrogate, path)) else "replace")
    for codec in ("latin-1", "cp437"):
        decoded.append(raw.decode(codec))
        try:
            decoded.append(path.encode(codec).decode("utf-8"))
        except UnicodeError:
            pass
    for read, written in (("cp437", "latin-1"), ("latin-1", "cp437")):
        try:
            decoded.append(path.encode(read).decode(written))
        except UnicodeError:
            pass
    return decoded


def _is_odd_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff" and not "\udc80" <= character <= "\udcff"


def bare_parts(parts: list[str]) -> list[str]:
    """Return the components without blanks around them and dots at their ends; what has nothing else is left out."""
    bare = [".." if part.strip(" ") == ".." else part.rstrip(TRAILING).lstrip(" ") for part in parts]
    return [part for part in bare if part]


def resolved(parts: list[str]) -> list[str]:
    """Return the components with each `..` taken back, as if no component were a link."""
    if ".." not in parts:
        return parts
    kept: list[str] = []
    for part in parts:
        if part != "..":
            kept.append(part)
        elif kept:
            kept.pop()
    return kept


def fold(path: str) -> str:
    """Return one spelling for all spellings that some file system or person takes for the same name.

    Case-insensitive directories (ext4, f2fs, APFS, HFS+) decompose names, drop invisible characters and fold case.
    Letters of another width or style (NFKC) are equal too: a program in between may convert them.
    """
    if path.isascii() and path.isprintable():
        return path.lower()
    dropped = _dropped()
    if path.isascii():
        return path.lower().translate(dropped)
    folded = ""
    while folded != path:  # a few characters need a second pass
        plain = normalize("NFKD", path).casefold().translate(dropped).replace("i\u0307", "i")
        folded, path = path, normalize("NFKC", plain)
    return folded


@cache
def _dropped() -> dict[int, str | None]:
    """Return the invisible characters, for `str.translate`."""
    table: dict[int, str | None] = dict.fromkeys([point for low, high in _INVISIBLE for point in range(low, high + 1)])
    table[0x131] = "i"  # A program that changes the case makes an i of both Turkish ones.
    return table | {0x3002: ".", 0x2044: "/", 0x2215: "/"}  # Others take these for a dot and a slash.


# Controls, Default_Ignorable_Code_Point of Unicode, and a pattern of Braille without dots.
_INVISIBLE = (
    *((0, 0x1F), (0x7F, 0x9F), (0x2800, 0x2800)),
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
