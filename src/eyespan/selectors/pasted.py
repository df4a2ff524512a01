"""Read what other programs print as targets: compiler messages, tracebacks, search results, URLs, test ids, diffs.

Pure: nothing is opened here. `interpretations(text)` returns the ways to understand a text, the likeliest first. Each
names one or several places, and each place has several readings, because only the files decide which one is meant. The
caller takes the first reading whose file exists and states it in its answer. The rules: docs/selectors.md.

Limits: the first `MAX_TEXT_CHARS` characters, `MAX_LINES` lines and `MAX_PLACES` places of a text are read. All regular
expressions are bounded, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, unquote, urlsplit

from eyespan.model import Lines
from eyespan.selectors import Cells, Named, Pages, Piece, Place, Ranges, Symbol, Target, bases, is_revision, readings
from eyespan.selectors.loose import (
    MAX_NAMES,
    loose_ranges,
    number,
    path_spellings,
    piece_of,
    shorter,
    sorted_lines,
    strip,
)

MAX_TEXT_CHARS = 64 * 1024
MAX_LINES = 300
MAX_LINE_CHARS = 1000
MAX_PLACES = 100
"""More places of one text than this are left out."""
MAX_READINGS = 48
"""The readings of one place."""
MAX_LOCATIONS = 8
"""The numbers of one line that are tried as a line of a file."""
MAX_NUMBERS = 24
"""The numbers of one line that are looked at."""
MAX_WORDS_BEFORE = 12
"""The words before a line number among which a path is looked for."""
MAX_WORDS = 4
"""The words before a line number that may be one path with blanks in it."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The places that a text may name."""

    places: tuple[tuple[Target, ...], ...]
    """For each place its readings, the likeliest first."""
    least: int = 1
    """The text has this meaning only if so many of its places exist."""


# --- texts -----------------------------------------------------------------------------------------------------------


def interpretations(text: str) -> Iterator[Interpretation]:
    """Yield the ways to understand a text, the likeliest first."""
    lines = _lines_of(text)
    if len(lines) > 1:
        yield Interpretation(tuple(_places_of_lines(lines)))
        return
    if not lines:
        return
    line = lines[0]
    several = tuple(_several_names(line))
    if several:
        yield Interpretation(several, least=len(several))
    yield Interpretation((tuple(_unique(_line_readings(line, is_alone=True))),))
    if several:
        yield Interpretation(several, least=2)
    yield Interpretation((tuple(_unique(_in_words(strip(line)))),))


def spellings(target: Target) -> list[Target]:
    """Return the other targets that a target of an object may mean: its path in other spellings."""
    return [_with_path(target, path) for path in path_spellings(target.path) if path != target.path]


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not blank, without colours."""
    text = _COLOURS.sub("", text[:MAX_TEXT_CHARS])
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line[:MAX_LINE_CHARS] for line in lines if line.strip()][:MAX_LINES]


def _places_of_lines(lines: Sequence[str]) -> list[tuple[Target, ...]]:
    """Return the places that several lines name, each place once.

    A line with a path alone gives the file of the numbered lines after it, as `rg --heading` and eslint print them. In
    a diff, the numbers of each hunk belong to the file of its header.
    """
    found: list[tuple[Target, ...]] = []
    heading: tuple[Target, ...] = ()
    unused: list[tuple[Target, ...]] = []
    is_table = False
    marks: tuple[str, ...] = ("diff --git ",)
    if any(line.startswith("+++ ") for line in lines):
        marks = ("+++ ", "@@ ", "rename to ")
    is_diff = any(line.startswith(marks[0]) for line in lines)
    for line in dict.fromkeys(lines) if not is_diff else lines:
        if is_diff and not line.startswith(marks):
            continue
        line = _FRAME_HEADING.sub(r"\1", line)
        table = _TABLE_HEADING.match(line) or _BRACKET_HEADING.match(line)
        if table is not None:
            line, is_table = table[1], True
        place = tuple(_hunk(line, heading) or _numbered(line, heading, is_table=is_table))
        if place:
            # The headings of these lines are no targets of their own.
            found = [one for one in found if one not in unused]
            unused = []
        else:
            place = tuple(_unique(_line_readings(line, is_alone=False)))
            bare = tuple([target for target in place if target.piece is None and _is_like_path(target.path)])
            if bare and "::" not in line and not any(isinstance(target.piece, Ranges) for target in place):
                is_weak = bool(heading) and not any("/" in target.path for target in bare)
                heading = tuple(_unique([*bare, *heading])) if is_weak else bare
                unused = [*unused, bare] if is_weak else [bare]
                place = bare
                is_table = is_table and table is not None
            else:
                place = tuple([target for target in place if target.piece is not None])
        if place and place not in found:
            found.append(place)
        if len(found) >= MAX_PLACES:
            break
    return _without_repeated(found)


def _without_repeated(places: Sequence[tuple[Target, ...]]) -> list[tuple[Target, ...]]:
    """Return the places without whole files of which another place names lines, such as the file of a command."""
    with_lines = {target.path for place in places for target in place if isinstance(target.piece, Ranges)}
    return [
        place
        for place in places
        if any(target.piece is not None for target in place) or not any(one.path in with_lines for one in place)
    ]


def _is_like_path(text: str) -> bool:
    return "/" in text or "." in text.strip(".")


def _hunk(line: str, heading: Sequence[Target]) -> list[Target]:
    match = _HUNK.match(line)
    if match is None or not heading:
        return []
    first, count = number(match[1]), int(match[2] or "1")
    piece = Ranges((Lines(first, max(1, count)),))
    return [Target(target.path, piece, target.member, target.revision) for target in heading]


def _numbered(line: str, heading: Sequence[Target], *, is_table: bool = False) -> list[Target]:
    match = _NUMBERED.match(line) or (_TABLE_ROW.match(line) if is_table else None)
    if match is None or not heading:
        return []
    digits, column = (match[1], None) if match.re is _TABLE_ROW else (match[1] or match[3] or match[4], match[2])
    line_number = number(digits)
    piece = Ranges((Place(line_number, number(column)) if column else Lines(line_number, 1),))
    return [Target(target.path, piece, target.member, target.revision) for target in heading]


def _several_names(line: str) -> list[tuple[Target, ...]]:
    """Return a place for each word of a line, if each looks like a path."""
    braces = _BRACES.fullmatch(line.strip())
    if braces is not None:
        line = " ".join([f"{braces[1]}{name.strip()}{braces[3]}" for name in braces[2].split(",")])
    words = [strip(word) for word in _BETWEEN_NAMES.split(strip(line))]
    words = [word for word in words if word]
    if not 2 <= len(words) <= MAX_PLACES or not all("." in word or "/" in word for word in words):
        return []
    return [tuple(_unique([*readings(word), *_line_readings(word, is_alone=True)])) for word in words]


# --- lines -----------------------------------------------------------------------------------------------------------


def _line_readings(line: str, *, is_alone: bool) -> Iterator[Target]:
    """Yield the readings of one line, in the order of the documentation. `is_alone`: no other line surrounds it."""
    if " => " in line:
        line = _RENAMED.sub(r"\2", line).replace("//", "/")
    if "?" in line:
        line = _BUNDLED.sub("", line)
    bare = strip(line)
    for text in dict.fromkeys([bare, strip(_PREFIX.sub("", bare, count=1))]):
        yield from _decorated(text, is_exact=text == line)
    for text in [*_MARKDOWN_LINK.findall(line), *_URL.findall(line)][:MAX_LOCATIONS]:
        yield from _linked(text)
    if _BARE_URL.match(bare):
        yield from _linked(f"https://{bare}")
    yield from _in_document(bare)
    yield from _in_archive(bare)
    yield from _fenced(line)
    yield from _tagged(line)
    yield from _diff_header(bare)
    if is_alone or "::" in line:
        yield from _tested(bare)
    yield from _keyed(line)
    yield from _located(line)
    if is_alone:
        yield from _of_class(line)
    anchor = _ANCHOR.match(bare)
    if anchor is not None:
        for name in dict.fromkeys([anchor[2], anchor[2].replace("-", " ")]):
            yield from _respelled(Target(anchor[1], Symbol(name)))
    if is_alone:
        yield from _dotted(bare)


def _decorated(text: str, *, is_exact: bool = False) -> Iterator[Target]:
    """Yield the exact readings of a text without its quotes, brackets and prefixes, with its path in other spellings.

    `is_exact`: these readings failed already, so names of symbols are not looked up again.
    """
    for target in readings(text):
        if not (is_exact and isinstance(target.piece, (Named, Symbol))):
            yield from _respelled(target)


def _linked(text: str) -> Iterator[Target]:
    """Yield the readings of a URL, or of the target of a Markdown link."""
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    if not scheme:
        yield from _decorated(strip(text))
        yield from _located(text)
        return
    try:
        url = urlsplit(text)
    except ValueError:
        return
    at_end = _LINES_AT_END.search(text) if url.path.strip("/") and not url.fragment else None
    if at_end is not None and _QUERY_LINES.match(url.query):
        at_end = None
    if at_end is not None:
        url = urlsplit(text[: at_end.start()])
    query = parse_qs(url.query, max_num_fields=32) if len(url.query) < MAX_LINE_CHARS else {}
    piece = _fragment(url.fragment) or _query_lines(url.query, query)
    if at_end is not None:
        piece = piece_of(at_end[1].rstrip(":-"))
    path = unquote(url.path)
    parameter = _PATH_PARAMETER.search(path)
    if parameter is not None:  # Gerrit and code search: `/+/main:src/a.c;l=3`
        path, piece = path[: parameter.start()], piece_of(parameter[1]) or piece
        path = _BRANCH_OF_PATH.sub(r"\1/", path)
    named = [value for name in ("path", "file", "filename", "url") for value in query.get(name, ())]
    for given in named:
        yield from _respelled(Target(given, piece))
        yield from _located(given)
    if scheme == "jar":
        return
    revision = ""
    if scheme in _WEB:
        match = (_HOSTED_BY_BITBUCKET if "bitbucket" in url.netloc else _HOSTED).search(path)
        if url.netloc.startswith("raw."):
            path = "/".join(path.split("/")[3:])
            revision = path.partition("/")[0]
        elif url.netloc.startswith(("localhost", "127.", "0.0.0.0", "[::1]")):
            pass
        elif match is not None:
            path = path[match.end() :]
            revision = path.partition("/")[0]
        else:
            return
    if _HEXADECIMAL.fullmatch(revision):
        yield Target(path.partition("/")[2], piece, revision=revision)
    if scheme not in _WEB:
        yield Target(f"/{path.lstrip('/')}", piece)
    for ending in shorter(path, is_foreign=True):
        yield Target(ending, piece)


def _fragment(text: str) -> Piece | None:
    """Return the lines that the fragment of a URL names."""
    text = unquote(text)
    if text.lower().startswith("page="):
        page = text[5:].partition("&")[0]
        return Pages(int(page), int(page)) if page.isdecimal() and len(page) < 8 and int(page) else None
    if text.startswith("lines-"):
        text = text.replace(":", "-")
    match = _FRAGMENT.match(text)
    return piece_of(match[1]) if match is not None else None


def _query_lines(text: str, query: dict[str, list[str]]) -> Piece | None:
    if query.get("line") or query.get("startLine"):
        first = (query.get("line") or query["startLine"])[0]
        last = next((query[name][0] for name in ("lineEnd", "endLine") if query.get(name)), first)
        return piece_of(f"{first}-{last}") if first != last else piece_of(first)
    match = _QUERY_LINES.match(text)
    return piece_of(match[1]) if match is not None else None


def _in_document(text: str) -> Iterator[Target]:
    """Yield pages of a PDF and cells of a notebook, for a text that names them in words or as lines."""
    match = _PAGES.fullmatch(text)
    if match is None:
        return
    path, noun, run = match.groups()
    kind = Pages if path.lower().endswith(".pdf") else Cells
    if noun and (noun[0] == "c") is not (kind is Cells):
        return
    for one in loose_ranges(run) or ():
        if isinstance(one, Lines):
            last = None if one.count is None else one.first + one.count - 1
            yield from _respelled(Target(path, kind(one.first, last)))


def _in_archive(text: str) -> Iterator[Target]:
    """Yield the member of an archive whose path follows that of the archive in another way than by `!/`."""
    match = _ARCHIVE.match(text)
    if match is not None:
        path, member = match[1].removeprefix("jar:").removeprefix("zip://"), match[2]
        for target in readings(f"{path}!/{member}"):
            if target.member:
                yield from _respelled(target)


def _fenced(line: str) -> Iterator[Target]:
    """Yield the file of the first line of a code block: a language, lines and a path, each of them optional."""
    match = _FENCE.match(line)
    if match is not None:
        yield from _respelled(Target(match[2], None if match[1] is None else piece_of(match[1].replace(":", "-"))))


def _tagged(line: str) -> Iterator[Target]:
    """Yield the place of a line of a tags file, of `git blame -f`, of a table of coverage, of a log and the like."""
    for match in [*[pattern.match(line) for pattern in _TAGS], _IN_FUNCTION.search(line)]:
        if match is not None:
            yield from _respelled(Target(match["path"], piece_of(_BRANCH.sub("", match["line"]))))
    match = _DOCSTRING.match(line)
    if match is not None:
        yield from _respelled(Target(match[1], Symbol(match[2].rpartition(".")[2])))
        yield from _respelled(Target(match[1]))
    match = _EXAMPLE_ID.search(line) or _SECTION.search(line)
    if match is not None:
        yield from _respelled(Target(match[1]))


def _keyed(line: str) -> Iterator[Target]:
    """Yield the place of a record that has a path and a line under their names: JSON, XML, `key=value`, a call."""
    piece = _keyed_lines(line)
    if piece is not None:
        for path in [*_PATH_KEY.findall(line), *_FIRST_ARGUMENT.findall(line)][:MAX_LOCATIONS]:
            yield from _respelled(Target(path, piece))


def _keyed_lines(line: str) -> Piece | None:
    """Return the lines of a record: a range, a first and a last line, an offset and a limit, or a line and a column."""
    fields: dict[str, str] = {}
    for found in _FIELD.finditer(line):
        name = found[1].lower().replace("_", "").replace("-", "")
        fields.setdefault(name, found[2])
    if "lines" in fields and piece_of(fields["lines"]) is not None:
        return piece_of(fields["lines"])
    first = next((fields[name] for name in _FIRST_LINE if fields.get(name, "").isdecimal()), "")
    if not first and "limit" in fields and fields.get("offset", "").isdecimal():
        first = fields["offset"]
    if not first:
        return None
    last = next((fields[name] for name in _LAST_LINE if fields.get(name, "").isdecimal()), "")
    if last and int(last) > int(first):
        return Ranges((sorted_lines(number(first), number(last)),))
    if fields.get("limit", "").isdecimal():
        return Ranges((Lines(number(first), number(fields["limit"])),))
    column = next((fields[name] for name in _FIRST_COLUMN if fields.get(name, "").isdecimal()), "")
    return Ranges((Place(number(first), number(column)) if column else Lines(number(first), 1),))


def _diff_header(text: str) -> Iterator[Target]:
    """Yield the file of a line of a diff, of `git status` or of `git diff --stat`."""
    for pattern in _HEADERS:
        match = pattern.match(text)
        if match is not None:
            yield from _respelled(Target(strip(match[1])))


def _located(line: str) -> Iterator[Target]:
    """Yield the readings of a path that a line number follows, in any of the usual spellings."""
    count = 0
    for seen, match in enumerate(_LOCATION.finditer(line)):
        if count >= MAX_LOCATIONS or seen >= MAX_NUMBERS:
            return
        piece, end = _location(line, match)
        if piece is None or (match["dash"] and (line[end : end + 1] != "-" or line[: match.start()].endswith(":"))):
            continue
        if not match["dash"] and _RANGE_GONE_WRONG.fullmatch(line, end):
            continue
        if match["blank"] and line[end:].strip(" .,:;)"):
            continue
        count += 1
        for path in _paths_before(line, match):
            yield from _respelled(Target(path, piece))
            if "::" in path and not match["blank"] and _is_like_path(path.partition("::")[0]):
                yield from _respelled(Target(path.partition("::")[0], piece))


def _location(line: str, match: re.Match[str]) -> tuple[Piece | None, int]:
    """Return the piece that a location names, and its end in the line."""
    run = match["run"]
    end = match.end()
    if match["dash"]:
        digits = _NUMBERS.match(run)
        return (None, end) if digits is None else (piece_of(digits[0]), match.start("run") + digits.end())
    in_brackets = match["open"] or (match["colon"] or "").rstrip()[-1:] in ("(", "[", "{")
    if in_brackets:
        total = _OF_TOTAL.match(line, end)
        if (line[end:] if total is None else line[total.end() :]).lstrip()[:1] not in (")", "]", "}"):
            return None, end
        piece = _bracketed(run, line, end)
    else:
        piece = None
        while run:
            follows = line[end : end + 1]
            columns = _COLUMNS.fullmatch(run) if follows == ":" or match["blank"] else None
            if columns is not None:
                piece = Ranges((Place(number(columns[1]), number(columns[2])),))
                break
            piece = None if follows.isalnum() or follows == "_" else piece_of(run)
            if piece is not None or not line[match.end() :].strip():
                break
            cut = max([run.rfind(mark) for mark in ":,;-+."])
            run, end = (run[:cut], end - len(run) + cut) if cut > 0 else ("", end)
    column = _COLUMN.match(line, end)
    if piece is not None and column is not None and isinstance(piece, Ranges):
        match piece.ranges:
            case (Lines(first, 1),):
                piece = Ranges((Place(first, number(column[1])),))
    return piece, end


def _bracketed(run: str, line: str, end: int) -> Piece | None:
    """Return the piece of `(3,7)`, `(3,7)-(9,2)`, `(3-9)`, `[3,7]` and the like: a comma separates line and column."""
    to = _TO_BRACKET.match(line, end)
    if to is not None:
        return Ranges((sorted_lines(number(_NUMBERS.findall(run)[0]), number(to[1])),))
    if "," not in run:
        return piece_of(run)
    numbers = [number(digits) for digits in _NUMBERS.findall(run)]
    if len(numbers) >= 4:
        return Ranges((sorted_lines(numbers[0], numbers[2]),))
    return Ranges((Place(numbers[0], numbers[1]),))


def _paths_before(line: str, match: re.Match[str]) -> list[str]:
    """Return what may be the path before a location, the longest first."""
    left = line[: match.start()]
    found = []
    quote = next((mark for mark in match["close"] if mark in _QUOTES), "")
    if quote:
        opener = _QUOTES[quote]
        at = left.rfind(opener)
        if at >= 0:
            found.append(left[at + 1 :])
    found.append(left)
    words = left.split(" ")
    if not match["blank"]:  # else the number may be one of the message, so the path is next to it
        found.append(left.partition(" - ")[0])
        found.append(found[-1].rpartition(" ")[2])
    for count in range(min(MAX_WORDS, len(words) - 1), 0, -1):
        found.append(" ".join(words[-count:]))
    if match["blank"]:
        return [path for path in dict.fromkeys([strip(path) for path in found]) if path]
    found += [word for word in reversed(words[-MAX_WORDS_BEFORE:]) if _is_like_path(strip(word))]
    token = left[1 + max([left.rfind(mark) for mark in _BEFORE_TOKEN]) :]
    found.append(token)
    for mark in "@>=,:":
        found.append(token.rpartition(mark)[2])
    found = [path for path in dict.fromkeys([strip(path) for path in found]) if path]
    if match["open"] or match["colon"]:
        found = [*_java_paths(left, found), *found]
    return found


def _java_paths(left: str, paths: Sequence[str]) -> list[str]:
    """Return the path of a class from its package, for a frame such as `at a.b.C.run(C.java:42)`."""
    frame, bracket, file = left.rpartition("(")
    if not bracket or file not in paths or not _FILE.fullmatch(file):
        return []
    # The last name is the method, the one before it the class; a module may stand before a slash.
    names = frame[1 + max(frame.rfind(" "), frame.rfind("\t"), frame.rfind("/")) :].split(".")
    packages = [name for name in names[:-2] if name[:1].islower()]
    return ["/".join([*packages, file])] if packages else []


def _tested(text: str) -> Iterator[Target]:
    """Yield the readings of the id of a test, as test runners print it."""
    left, colons, right = text.partition("::")
    name = _TEST_NAME.match(right)
    if colons and name is not None:
        path = left[1 + max([left.rfind(mark) for mark in _BEFORE_TOKEN]) :]
        for symbol in dict.fromkeys([name[0].rstrip(",;:)"), name[1].rstrip(",;:)")]):
            if symbol and "." in path:
                yield from _respelled(Target(path, Symbol(symbol)))
    match = _RUST_TEST.match(text)
    if match is not None:
        names = match[1].split("::")
        for count in range(min(len(names) - 1, MAX_NAMES), 0, -1):
            for first in (0, 1) if count > 1 else (0,):
                base = "/".join(names[first:count])
                symbol = Symbol("::".join(names[count:]))
                for path in (f"src/{base}.rs", f"src/{base}/mod.rs", f"tests/{base}.rs", f"{base}.rs"):
                    yield Target(path, symbol)
        for path in ("src/lib.rs", "src/main.rs"):
            yield Target(path, Symbol("::".join(names)))


def _dotted(text: str) -> Iterator[Target]:
    """Yield the readings of a dotted name of a module, a class or a test: `tests.test_a.TestA.test_b`."""
    match = _UNITTEST.match(text)
    names = (match[2] if match is not None else text).replace("#", ".").replace(":", ".").split(".")
    if match is not None and names[-1] != match[1]:
        names.append(match[1])
    if len(names) < 3 or not all(_IDENTIFIER.fullmatch(name) for name in names[:MAX_NAMES]):
        return
    for count in range(min(len(names), MAX_NAMES), 0, -1):
        symbol = Symbol(".".join(names[count:])) if count < len(names) else None
        for suffix in (".py", "/__init__.py", ".java", ".kt", ".scala", ".cs", ".rb", ".ts", ".js"):
            yield Target("/".join(names[:count]) + suffix, symbol)


def _of_class(line: str) -> Iterator[Target]:
    """Yield the file of a test that is named by its class: `AppTest.adds:12` of Maven, `a.b.AppTest.adds -- Time`."""
    for match in _CLASS_AND_LINE.finditer(line):
        piece = Ranges((Lines(number(match[2]), 1),))
        for suffix in _CLASS_SUFFIXES:
            yield Target(f"{match[1]}{suffix}", piece)
    named = _CLASS_IN_PACKAGE.search(line)
    if named is not None:
        for suffix in _CLASS_SUFFIXES:
            yield Target(named[1].replace(".", "/") + suffix, Symbol(named[2]) if named[2] else None)


def _in_words(text: str) -> Iterator[Target]:
    """Yield the paths among the words of a sentence or a command."""
    words = text.split()
    if len(words) == 2 and _IDENTIFIER.fullmatch(words[1].partition(".")[0]) and "." in words[0]:
        yield from _respelled(Target(words[0], Symbol(words[1])))
    piece = _command_lines(text)
    has_verb = piece is not None or (bool(words) and f" {words[0].lower().rstrip(':')} " in _VERBS)
    for word in words[-MAX_LOCATIONS:] + words[:MAX_LOCATIONS]:
        path = strip(_RANGE_BEFORE.sub("", word) if piece is not None else word)
        if ("/" in path and "." in path) or (has_verb and ("." in path or path == words[-1])):
            if piece is not None:
                yield from _respelled(Target(path, piece))
            for target in readings(path):
                yield from _respelled(target)


def _command_lines(text: str) -> Piece | None:
    """Return the lines that a command prints or an editor opens."""
    match = _SED.search(text)
    if match is not None:
        return piece_of(f"{match[1]}-{match[2] or match[1]}")
    match = _HEAD_OR_TAIL.match(text)
    if match is not None:
        return piece_of(f"1-{match[2]}" if match[1] == "head" else f"-{match[2]}")
    match = _RECORDS.search(text)
    if match is not None:
        return piece_of(f"{match[1]}-{match[2]}")
    match = _OPTION.search(text)
    if match is not None:
        first, sign, last = match.groups()
        if not last:
            return Ranges((Lines(number(first), 1),))
        return Ranges((Lines(number(first), number(last)) if sign else sorted_lines(number(first), number(last)),))
    match = _EDITOR_LINE.search(text)
    if match is not None:
        return Ranges((Place(number(match[1]), number(match[2])) if match[2] else Lines(number(match[1]), 1),))
    match = _LINES_OF.match(text)
    piece = None if match is None else piece_of(match[1])
    if piece is not None:
        return piece
    match = _LINE_BEFORE.search(text)
    if match is None:
        return None
    return Ranges((Place(number(match[1]), number(match[2])) if match[2] else Lines(number(match[1]), 1),))


def _respelled(target: Target) -> Iterator[Target]:
    """Yield a target with its path in every spelling, also split at a revision or a member."""
    for path in path_spellings(target.path):
        yield _with_path(target, path)
        if not target.member and not target.revision:
            if "!/" in path or "@" in path[1:]:
                yield from [replace(one, pattern=target.pattern) for one in bases(path, target.piece)]
            revision, colon, rest = path.partition(":")
            is_named = _REVISION.fullmatch(revision) is not None and is_revision(revision)
            if colon and is_named and _is_like_path(rest) and not rest[:1].isdigit() and not _is_like_path(revision):
                yield replace(target, path=rest, revision=revision)


def _with_path(target: Target, path: str) -> Target:
    return replace(target, path=path)


def _unique(targets: Iterator[Target] | Sequence[Target]) -> list[Target]:
    found: dict[Target, None] = {}
    for target in targets:
        if target.path:
            found[target] = None
            if len(found) >= MAX_READINGS:
                break
    return list(found)


# --- patterns --------------------------------------------------------------------------------------------------------

_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_QUOTES = {'"': '"', "'": "'", "`": "`", "”": "“", "’": "‘", "»": "«"}
_WEB = ("http", "https")
_VERBS = (
    " cat less more head tail vim vi nano emacs code open edit read view show see file bat nl wc sed created modified "
    "deleted renamed added copied updated error warning fail pass failed passed in from at to path "
)
"""Words before a path, each between blanks."""
_WORD = r"(?:[Ll]ines?|LINES?|[Ll]n|L|l)"
_DASH = r"(?:-{1,2}>|=>|\u2192|\.\.\.?=?|[-\u2010-\u2015\u2212\u2026~])"
_SEPARATOR = rf"\s?(?:{_DASH}|[,;:+&]|to\s|through\s|thru\s|until\s|and\s)\s?"
_ITEM = rf"(?:{_WORD}\s?)?[0-9]{{1,40}}(?:[Cc][0-9]{{1,6}})?"
_END = r"(?:end|END|eof|EOF|last|\$|\u221e|\*)(?!\w)"
_RUN = rf"{_ITEM}(?:{_SEPARATOR}(?:{_ITEM}|{_END})){{0,32}}(?:[-+](?=$|[\s\"'`)\]>,;]))?"
_LOCATION = re.compile(
    rf"""(?P<close>["'`”’»)\]>}}*]{{0,3}})
    (?:(?P<colon>\s?:\s?[(\[{{]?\s?(?:{_WORD}\s?\.?\s?)?)
    |(?P<hash>[#?](?:L|l|lines?[-=]|n|:L)?)
    |(?P<open>\s?[(\[{{]\s?(?:{_WORD}\s?[.:]?\s?)?)
    |(?P<word>[,:;]?\s{{1,4}}(?:(?:on|at|in|around|from|@)\s)?(?:[Ll]ines?|LINES?|ln|L|l\.)[\s:#.=]{{0,2}})
    |(?P<pipe>\s?\|\s?)
    |(?P<comma>[,;@]\s?)
    |(?P<field>,line=|["']\}},\{{line,|["']?,\s?["']?line["']?\s?[:=]\s?)
    |(?P<dash>-)
    |(?P<blank>[ ]{{1,4}}))
    (?P<run>(?=[0-9LlCc]){_RUN})""",
    re.VERBOSE,
)
_COLUMN = re.compile(
    r",?\s?(?:,|and|at)?\s?[\"']?(?:[Cc]ol(?:umn)?|char(?:acter)?|pos(?:ition)?)[\"']?[\s:=.]{0,2}([0-9]{1,9})"
)
_OF_TOTAL = re.compile(r"\sof\s[0-9]{1,12}|,?\s?[Cc]ol(?:umn)?\.?:?\s?[0-9]{1,9}")
_TO_BRACKET = re.compile(r"\)\s?-\s?\(\s?([0-9]{1,15})")
_NUMBERS = re.compile(r"[0-9]{1,20}")
_BEFORE_TOKEN = " \t\"'`“”‘’«»([{<>=|,;"
_FILE = re.compile(r"[\w$-]{1,200}\.\w{1,8}")
_HUNK = re.compile(r"@@ -[0-9]{1,15}(?:,[0-9]{1,15})? \+([0-9]{1,15})(?:,([0-9]{1,15}))? @@")
_NUMBERED = re.compile(
    r"\s{0,20}([0-9]{1,9})(?::([0-9]{1,6})(?=[\s:])|[:\-|](?![0-9:])|:(?=[0-9]+:)|\s{0,4}[|\u2502\u2506\u250a](?=\s))"
    r"|\s{0,8}[Ll](?:ine)?[:.]\s{0,20}([0-9]{1,9})(?=[\s|]|$)"
    r"|-{2,6}>\s{1,4}([0-9]{1,9})(?=\s)"
)
_TABLE_HEADING = re.compile(r"\s{0,8}Line\s{2,8}(\S{1,500}[./]\S{1,200})\s{0,200}$")
_FRAME_HEADING = re.compile(r"^(\S{1,500}[./]\w{1,60}) in [\w.<>]{1,200}(?:\(.{0,300}\))?$")  # IPython
_TABLE_ROW = re.compile(r"\s{0,8}([0-9]{1,9})\s{2,12}[^\s/.]{1,100}(?:\s|$)")
_BRACKET_HEADING = re.compile(r"==\s\[(.{1,500})\]\s")
_HEADERS = (
    re.compile(r"diff --git .{1,1000} (b/.{1,1000})$"),
    re.compile(r"(?:\+\+\+|---) ([^\t]{1,1000})(?:\t.{0,200})?$"),
    re.compile(r"(?:rename|copy) (?:to|from) (.{1,1000})$"),
    re.compile(r"(?:rename|copy) (\S{1,1000}) \([0-9]{1,3}%\)$"),
    re.compile(r"(?:modified|new file|deleted|renamed|both modified|typechange|copied):\s{1,12}(?:.{1,500} -> )?(.+)$"),
    re.compile(r"(?:[ MADRCUT?!]{1,2}[0-9]{0,3}\s)\s?(?:[^\t]{1,500}(?: -> |\t))?(.+)$"),
    re.compile(r"\S{1,500} => (\S{1,1000})\s{1,200}\|\s{1,20}[0-9]"),
    re.compile(r"(\S{1,1000})\s{1,200}\|\s{1,20}(?:[0-9]+\s[+-]{0,200}|Bin .{0,100})$"),
    re.compile(r"[-dlrwxsStT+.@]{10,12}\s.{1,200}\s[0-9:]{4,5}\s(.{1,1000})$"),
    re.compile(r"[0-9.]{1,12}[KMGTkmgt]?\s(\S{1,1000})$"),
)
_BETWEEN_NAMES = re.compile(r"[\s,;]{1,8}(?:(?:and|or|&|\+)[\s,;]{1,4})?")
_PREFIX = re.compile(
    r"^(?:@@?|-->|:::|=>|==>|\$|#|>|\+\+\+|---|[-+*•–]|[0-9]{1,3}[.)]|at|in|from|see|file|read|cat|open|path|source|"
    r"rspec|FAILED|FAIL|PASSED|PASS|ERROR|error|warning|WARNING|note|Error|modified|Only in|\?\?|M|A|D|R)"
    r"(?:[:\s]\s{0,8}|(?<=@))(?=\S)"
)
_MARKDOWN_LINK = re.compile(r"\]\(<?([^)\s>]{1,1000})")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,30}://[^\s\"'`<>)\]]{1,2000}")
_HOSTED_BY_BITBUCKET = re.compile(r"/(?:src|browse|raw)/")
_HOSTED = re.compile(
    r"/(?:-/)?(?:blob|raw|blame|edit|tree|src/branch|src/commit|src/tag|browse|view|commits|\+)/"
    r"(?:refs/(?:heads|tags)/)?"
)
_BARE_URL = re.compile(
    r"(?:www\.)?[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}/[^/\s]{1,100}/[^/\s]{1,100}/(?:-/)?(?:blob|raw|blame|tree)/"
)
_BRACES = re.compile(r"([^\s{}]{0,200})\{([^{}\s]{1,500},[^{}]{1,500})\}([^\s{}]{0,200})")
_FENCE = re.compile(r"\s{0,8}`{3,}(?:\w{1,20}\s)?(?:([0-9]{1,9}:[0-9]{1,9}):)?([^\s`]{1,500})$")
_TAGS = (
    re.compile(r"[^\t]{1,200}\t(?P<path>[^\t]{1,500})\t.{0,400}\bline:(?P<line>[0-9]{1,9})"),
    re.compile(r"[^\t]{1,200}\t(?P<path>[^\t]{1,500})\t(?P<line>[0-9]{1,9})(?:;\"|$)"),
    # ctags -x and global: the line number precedes the path
    re.compile(r"\S{1,200}\s{1,60}(?:\w{1,30}\s{1,40})?(?P<line>[0-9]{1,9})\s{1,4}(?P<path>\S{1,500}[./]\S{1,200})\s"),
    re.compile(r"(?P<path>\S{1,500}\.\w{1,8}) [\w.$<>:~]{1,200} (?P<line>[0-9]{1,9}) \S"),  # cscope
    re.compile(r"\^?[0-9a-f]{7,40}\s{1,4}(?P<path>[^\s(]{1,500})\s{1,200}\(.{1,200}\s(?P<line>[0-9]{1,9})\)(?:\s|$)"),
    re.compile(
        r"(?P<path>\S{1,500})\s{1,200}(?:[0-9]{1,9}\s{1,20}){2,4}[0-9.]{1,6}%\s{1,20}"
        r"(?P<line>[0-9][0-9, \t>exit-]{0,200})$"
    ),
    re.compile(  # coverage of JavaScript: columns between bars
        r"\s{0,20}(?P<path>[^\s|]{1,500}\.\w{1,8})\s{0,200}\|(?:\s{1,20}[0-9.]{1,6}\s{1,20}\|){2,4}\s{1,20}"
        r"(?P<line>[0-9][0-9,-]{0,200})\s{0,20}\|?$"
    ),
    # sass: a column after a blank
    re.compile(r"\s{0,20}(?P<path>[^\s:]{1,500}[./]\S{1,200})\s{1,4}(?P<line>[0-9]{1,9}:[0-9]{1,6})\s{2}"),
)
_IN_FUNCTION = re.compile(  # a function between path and line, as loguru prints it
    r"(?:^|[\s|])(?P<path>[^\s:|]{1,300}\.\w{1,8}):[^\W\d][\w.<>$]{0,100}:(?P<line>[0-9]{1,9})(?![0-9:])"
)
_BRANCH = re.compile(r"->(?:-?[0-9]{1,9}|exit)")
_DOCSTRING = re.compile(r"(\S{1,500}\.\w{1,8}):docstring of ([\w.]{1,300}):")
_SECTION = re.compile(r"([^\s'\"`(]{1,500}\.\w{1,8}):\(\.\w{1,20}")
_EXAMPLE_ID = re.compile(r"([^\s'\"]{1,500}\.\w{1,8})\[[0-9:,]{1,60}\]")
_RENAMED = re.compile(r"\{([^{}]{0,300}) => ([^{}]{0,300})\}")
_FIELD = re.compile(
    r"""(?:^|[\s"'{,;<(\[])((?:start|begin|end|last)?_?(?:line|column|col|limit|offset)s?_?(?:number|no|num|start|end)?)["']?"""
    r"""\s?[:=]\s?["']?([0-9][0-9-]{0,30})""",
    re.IGNORECASE,
)
_FIRST_LINE = ("line", "startline", "beginline", "linenumber", "lineno", "linenum", "linestart")
_LAST_LINE = ("endline", "lastline", "lineend", "endlinenumber")
_FIRST_COLUMN = ("column", "col", "startcolumn", "begincolumn", "columnnumber", "startcol")
_FIRST_ARGUMENT = re.compile(r"^\s{0,8}\w{1,60}\([\"']?([^\s\"',;<>|()]{1,500}[./][^\s\"',;<>|()]{1,200})")
_PATH_KEY = re.compile(
    r"""(?:^|[\s"'{,;<(\[])(?:source|abs|absolute|relative)?_?(?:file|path|filename|file_?path|uri|name)["']?\s?[:=]\s?"""
    r"""(?:\{\s?["']text["']\s?:\s?)?["']?([^\s"',;<>|]{1,500}[./][^\s"',;<>|]{1,200})""",
    re.IGNORECASE,
)
_PAGES = re.compile(
    r"([^\s]{1,1000}\.(?:pdf|PDF|ipynb))[\s:#,(]{1,4}(pages?|pp?\.?|cells?)?[\s=:.-]{0,2}([0-9][0-9\s-]{0,40})\)?"
)
_ARCHIVE = re.compile(
    r"(\S{1,1000}?\.(?:zip|jar|war|ear|apk|whl|egg|tar|tgz|tbz2|txz|tar\.(?:gz|bz2|xz|zst)))(?::{1,2}|!/?|#|/)([^\s/:!#]\S{0,1000})$"
)
_LINES_OF = re.compile(r"(?:[Ll]ines?|L)\s?([0-9].{0,60}?)\s(?:of|in|from|at)\s")
_LINE_BEFORE = re.compile(
    r"(?:^|\s)(?:[Ll]ines?|[Ll]n)[\s:.]{1,2}([0-9]{1,9})(?:,?\s(?:col(?:umn)?|Col)[\s:.]{1,2}([0-9]{1,6}))?\b.{0,300}[./]"
)
_HEAD_OR_TAIL = re.compile(r"(head|tail)\s{1,4}-n?\s{0,4}([0-9]{1,12})\s")
_RANGE_GONE_WRONG = re.compile(r"[\s0-9.,:;+>~\u221e*$-]{0,40}[0-9+>~\u221e*$-][\s.,:;)]{0,8}")
_PATH_PARAMETER = re.compile(r";(?:drc=\w{1,60};)?l=([0-9][0-9-]{0,40})")
_BRANCH_OF_PATH = re.compile(r"(/\+/[^:]{1,200}):")
_HEXADECIMAL = re.compile(r"[0-9a-f]{7,40}")
_LINES_AT_END = re.compile(r"(?:\?[\w=&.%+-]{0,200})?:([0-9][0-9:\-]{0,40})(?:\([0-9]{1,9})?:?$")
_BUNDLED = re.compile(r"(?<=\w)\?(?!L[0-9])[\w=&.%+-]{1,200}(?=:[0-9])")
_FRAGMENT = re.compile(r"(?:L|l|lines?[-=]|n|line|.{0,80}-)?([0-9][0-9LlCc:,.\-]{0,60})$")
_QUERY_LINES = re.compile(r"(?:.{0,200}&)?L([0-9][0-9LlCc:,.\-]{0,60})")
_TEST_NAME = re.compile(r"([^\s\[\"'`]{1,300})(?:\[[^\n]{0,300}?\](?=\s|$))?")
_RUST_TEST = re.compile(
    r"(?:test |-{3,5} )?((?:\w{1,100}::){1,12}\w{1,100})(?: \.\.\. .{0,100}| stdout -{3,5}| - .{0,200})?$"
)
_UNITTEST = re.compile(r"(?:(?:FAIL|ERROR|ok): )?(\w{1,200}) \(([\w.]{3,400})\)")
_CLASS_SUFFIXES = (".java", ".kt", ".scala", ".groovy")
_CLASS_AND_LINE = re.compile(r"(?:^|\s)([A-Z]\w{1,100})(?:[.>$-]{1,2}\w{1,100}){1,3}:([0-9]{1,9})(?=\s|$)")
_CLASS_IN_PACKAGE = re.compile(
    r"(?:^|[\s(\[])((?:[a-z_]\w{0,60}\.){2,12}[A-Z]\w{0,100})(?:[.#](\w{1,100}))?(?=[\s(\[\]),:]|$)"
)
_IDENTIFIER = re.compile(r"[^\W\d]\w{0,200}")
_SED = re.compile(r"(?:^|\s|['\"])([0-9]{1,12})(?:,([0-9]{1,12}|\$))?p['\"]?(?:\s|$)")
_EDITOR_LINE = re.compile(r"(?:^|\s)\+([0-9]{1,12})(?:[:,]([0-9]{1,6}))?(?:\s|$)")
_OPTION = re.compile(  # of editors, pagers and git: `-l 3`, `--line=3`, `-r 3:9`, `-L 3,+5`, `-L 3,9:a.c`
    r"(?:^|\s)(?:-[lnrL]\s?|--(?:line|line-range|range|lines|goto-line|line-number)[\s=])"
    r"([0-9]{1,12})(?:[:,-](\+?)([0-9]{1,12}))?(?=[\s:]|$)"
)
_RANGE_BEFORE = re.compile(r"^[0-9]{1,12},\+?[0-9]{1,12}:(?=\S)")
_RECORDS = re.compile(r"\bNR\s?>=?\s?([0-9]{1,12})\s?&&\s?NR\s?<=?\s?([0-9]{1,12})")
_REVISION = re.compile(r"[\w./~^@{}-]{2,200}")
_ANCHOR = re.compile(r"([^\s#]{1,1000})#([^\W\d][^\s#]{0,200})$")
_COLUMNS = re.compile(r"([0-9]{1,15}):([0-9]{1,15})-[0-9]{1,15}")
