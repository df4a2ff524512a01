"""Would the tests notice? Deliberate defects, one at a time, in a copy of the checkout.

    python tools/mutate.py [--only WORD...] [--whole] [--list]

Each defect is one change of text in one file, with the tests that are expected to turn red. Those run first; if they
stay green, the whole suite does with `--whole`, else the defect has survived. A survivor is a missing test, or a change
that changes nothing: then it is listed with the reason. Ends with a table; exit status 1 if anything survived that is
not listed so, or if a text to change is not found exactly once (so that this list cannot rot in silence).
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parents[1]
NATIVE = "src/eyespan/_native"
SECONDS = 900
"""After which a run counts as red: a defect that hangs is noticed."""


class Defect(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    tests: str
    """What is expected to notice, as arguments of pytest."""
    equivalent: str = ""
    """Why nothing can notice, if that is so."""


SPECIAL = "tests/guard/test_special.py"
OPENED = "tests/guard/test_opened.py"
FAULTS = "tests/faults/test_faults.py::test_a_fault_is_told_or_overcome_and_nothing_is_left[openat2]"
DEFECTS = [
    # --- the guard ---
    Defect(
        "openat2 in C may leave the root",
        f"{NATIVE}/fast.c",
        "BENEATH | NO_MAGICLINKS | NO_SYMLINKS}",
        "NO_MAGICLINKS | NO_SYMLINKS}",
        f"{SPECIAL} -k leads_out",
    ),
    Defect(
        "openat2 in C follows magic links",
        f"{NATIVE}/fast.c",
        "BENEATH | NO_MAGICLINKS | NO_SYMLINKS}",
        "BENEATH | NO_SYMLINKS}",
        f"{SPECIAL} -k 'magic or proc'",
        "openat2(2): RESOLVE_BENEATH refuses magic links by itself; the flag is there in case that changes",
    ),
    Defect(
        "openat2 by ctypes may leave the root",
        "src/eyespan/guard/syscalls.py",
        "_RESOLVE = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS",
        "_RESOLVE = _RESOLVE_NO_MAGICLINKS",
        f"{SPECIAL} -k leads_out",
    ),
    Defect(
        "an open in C may wait",
        f"{NATIVE}/fast.c",
        "O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC",
        "O_RDONLY | O_NOCTTY | O_CLOEXEC",
        f"{SPECIAL} -k lease",
    ),
    Defect(
        "an open in Python may wait",
        "src/eyespan/guard/__init__.py",
        '_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)',
        "_READ = os.O_RDONLY",
        f"{SPECIAL} -k lease",
    ),
    Defect(
        "pipes and devices pass for files",
        "src/eyespan/guard/__init__.py",
        "if not stat.S_ISREG(found.mode):",
        "if stat.S_ISDIR(found.mode):",
        f"{SPECIAL} -k 'pipe or socket'",
    ),
    Defect(
        "kernel state is read, in C",
        f"{NATIVE}/fast.c",
        "out->pseudo |= out->type == wanted->types[i];",
        "out->pseudo |= 0;",
        f"{SPECIAL} -k kernel_state",
    ),
    Defect(
        "kernel state is read, in Python",
        "src/eyespan/guard/syscalls.py",
        "in PSEUDO_TYPES\n",
        "in ()\n",
        f"{SPECIAL} -k kernel_state",
    ),
    Defect(
        "rules do not see what a link leads to",
        "src/eyespan/guard/__init__.py",
        "if found.canonical != rest:",
        "if False:",
        f"{SPECIAL} -k 'denied_file or rules_are'",
    ),
    Defect(
        "rules do not see the name asked for",
        "src/eyespan/guard/__init__.py",
        "        self.policy.admit(rest, path)\n",
        "",
        f"{SPECIAL} -k 'rules_are or speaks_before'",
    ),
    Defect(
        "a file swapped after it was judged is read",
        "src/eyespan/guard/__init__.py",
        " or (status.st_dev, status.st_ino) != (before.st_dev, before.st_ino)",
        "",
        f"{SPECIAL} -k another_file",
    ),
    Defect(
        "what was found is never closed",
        "src/eyespan/guard/__init__.py",
        "                if found.fd >= 0:\n                    close(found.fd)\n",
        "                pass\n",
        f"{SPECIAL} -k descriptor",
    ),
    Defect(
        "`..` at the root stays there",
        "src/eyespan/guard/walk.py",
        '                    raise OutsideRoot("")\n                close',
        "                    continue\n                close",
        f"{SPECIAL} tests/guard/test_agreement.py -k 'leads_out or agree'",
    ),
    Defect(
        "the walk follows links blindly",
        "src/eyespan/guard/walk.py",
        "_HANDLE = _O_PATH | _NOFOLLOW |",
        "_HANDLE = _O_PATH |",
        f"{SPECIAL} -k leads_out",
    ),
    Defect(
        "the walk follows links to folders blindly",
        "src/eyespan/guard/walk.py",
        "_FOLDER = _HANDLE | _DIRECTORY",
        "_FOLDER = _O_PATH | _DIRECTORY",
        f"{SPECIAL} -k leads_out",
    ),
    Defect(
        "the walk follows one link more",
        "src/eyespan/guard/walk.py",
        "MAX_LINKS = 40",
        "MAX_LINKS = 41",
        f"{SPECIAL} -k forty",
    ),
    Defect(
        "a file passes for a folder",
        "src/eyespan/guard/walk.py",
        "            elif pending:\n",
        "            elif False:\n",
        f"{SPECIAL} -k slash_behind",
    ),
    Defect(
        "an absolute link may leave the roots",
        "src/eyespan/guard/walk.py",
        '        if found is None:\n            raise OutsideRoot("")\n        self.close()',
        "        if found is None:\n            return target\n        self.close()",
        f"{SPECIAL} -k leads_out",
    ),
    Defect(
        "a root matches by letters, not by names",
        "src/eyespan/guard/paths.py",
        'if at < len(path) and path[at] != "/":',
        "if False:",
        f"{SPECIAL} -k whole_names",
    ),
    Defect(
        "a NUL in a path",
        "src/eyespan/guard/paths.py",
        '    if "\\0" in path:\n',
        "    if False:\n",
        f"{SPECIAL} -k cannot_be_a_path",
    ),
    Defect(
        "a URI passes for a path",
        "src/eyespan/guard/paths.py",
        "if lower in _SCHEMES or (",
        "if (",
        f"{SPECIAL} -k cannot_be_a_path",
    ),
    Defect(
        "a link that cannot be read passes for a name",
        "src/eyespan/guard/portable.py",
        "os.path.realpath(asked, strict=True)",
        "os.path.realpath(asked)",
        "tests/faults/test_faults.py -k portable",
    ),
    Defect(
        "listings name what is forbidden",
        "src/eyespan/guard/listing.py",
        "guard.policy.rule_against(name) is None and (",
        "(",
        "tests/guard/test_listing.py",
    ),
    Defect(
        "listings have no end",
        "src/eyespan/guard/listing.py",
        "if seen >= MAX_SEEN:",
        "if False:",
        "tests/guard/test_listing.py -k large",
    ),
    Defect(
        "a change while reading is not told",
        "src/eyespan/guard/source.py",
        "return (now.st_size, now.st_mtime_ns) != (self._status.st_size, self._status.st_mtime_ns)",
        "return False",
        "tests/test_tool.py tests/dialects/test_native_truths.py -k chang",
    ),
    Defect(
        "a short read is the end",
        "src/eyespan/guard/source.py",
        "while data and len(data) < size_bytes:",
        "while False:",
        FAULTS,
    ),
    Defect(
        "the size that is told is believed",
        "src/eyespan/guard/source.py",
        "if len(head) != self.size_bytes and len(head) < self.max_first_bytes:",
        "if len(head) < self.size_bytes and len(head) < self.max_first_bytes:",
        FAULTS,
    ),
    Defect(
        "a close that fails is an error",
        "src/eyespan/guard/closing.py",
        "    except OSError as error:\n        if error.errno == errno.EBADF:",
        "    except OSError as error:\n        if error:",
        FAULTS,
    ),
    Defect(
        "C forgets a descriptor when it fails half way",
        f"{NATIVE}/fast.c",
        "if (error && fd >= 0)",
        "if (0)",
        FAULTS,
    ),
    Defect(
        "of a root of kernel state nothing is asked, in C",
        "src/eyespan/guard/openat.py",
        "device = root.device if root.plain else -1",
        "device = root.device",
        f"{OPENED} -k kernel_state",
    ),
    Defect(
        "of a root of kernel state nothing is asked, in Python",
        "src/eyespan/guard/__init__.py",
        "if root.plain and status is not None and status.st_dev == root.device:",
        "if status is not None and status.st_dev == root.device:",
        f"{OPENED} -k kernel_state",
    ),
    Defect(
        "C reads whatever it finds by a number",
        f"{NATIVE}/fast.c",
        " || opened.st_dev != found.st_dev || opened.st_ino != found.st_ino)",
        ")",
        f"{OPENED} -k another_folder",
    ),
    Defect(
        "a forked process looks among its parent's descriptors",
        "src/eyespan/guard/openat.py",
        "os.register_at_fork(after_in_child=_hold_own_handles)",
        "pass",
        f"{OPENED} -k forked",
    ),
    Defect(
        "every path is its own canonical form",
        f"{NATIVE}/fast.c",
        "out->plain = spells_plainly(wanted->path);",
        "out->plain = 1;",
        f"{OPENED} tests/guard/test_agreement.py",
    ),
    Defect(
        "a time that C cannot count is told wrong",
        f"{NATIVE}/fast.c",
        "else if (note_status(out, &opened)) {",
        "else if (note_status(out, &opened) | 1) {",
        f"{OPENED} -k status",
    ),
    Defect(
        "what a source holds is taken for all there is",
        "src/eyespan/guard/source.py",
        "and 0 <= offset < len(head)",
        "and 0 <= offset <= len(head)",
        f"{OPENED} -k read_again",
    ),
    Defect(
        "at a glance no folder is forbidden",
        "src/eyespan/policy.py",
        "seen = seen or folder in path",
        "seen = False",
        "tests/test_policy.py",
    ),
    # --- limits ---
    Defect(
        "no limit on the size of a file",
        "src/eyespan/engine.py",
        "if limit is not None and source.size_bytes > limit:",
        "if False:",
        "tests/test_conformance.py tests/dialects/test_reference.py",
    ),
    Defect(
        "no limit on what is scanned",
        "src/eyespan/lines/reader.py",
        "if self._over is not None and self._read(position, 1):",
        "if False:",
        "tests/lines/test_reader.py -k scan_ends",
    ),
    Defect(
        "no limit on a window",
        "src/eyespan/lines/reader.py",
        "if len(self.kept) + LINE_BYTES * self.lines > self._max_window:",
        "if False:",
        "tests/lines/test_reader.py -k window",
    ),
    Defect(
        "lines are cut a byte late",
        "src/eyespan/_native/__init__.py",
        "raw[:max_bytes]",
        "raw[: max_bytes + 1]",
        "tests/dialects/test_reference.py tests/native/test_twins.py",
    ),
    # --- decoders ---
    Defect(
        "JSON may be of any depth",
        "src/eyespan/readers/notebook.py",
        "if depth > MAX_DEPTH:",
        "if False:",
        "tests/readers/test_notebook.py",
    ),
    Defect(
        "JSON may hold any number of values",
        "src/eyespan/readers/notebook.py",
        'if bare.count(b",") + len(brackets) // 2 > MAX_VALUES:',
        "if False:",
        "tests/readers/test_notebook.py",
    ),
    Defect(
        "a bomb is unpacked",
        "src/eyespan/sources/nested.py",
        "if position > FREE_BYTES and position > MAX_RATIO * max(used, 1):",
        "if False:",
        "tests/readers/test_archives.py -k bomb",
    ),
    Defect(
        "a wrong checksum is believed",
        "src/eyespan/sources/nested.py",
        "if self._checksum is not None and self._crc != self._checksum:",
        "if False:",
        "tests/readers/test_archives.py -k checksum",
    ),
    Defect(
        "a member under another name is believed",
        "src/eyespan/sources/zips.py",
        "if _decode(written, True) != entry.name:",
        "if False:",
        "tests/readers/test_archives.py -k another_name",
    ),
    Defect(
        "a zip bomb in a document",
        "src/eyespan/decoders/ooxml.py",
        "if part.size_bytes > MIB and part.size_bytes > MAX_RATIO * max(1, part.packed_bytes):",
        "if False:",
        "tests/readers/test_office.py -k bomb",
    ),
    Defect(
        "pictures of any size are decoded",
        "src/eyespan/decoders/image.py",
        "MAX_PIXELS = 100_000_000\n",
        "MAX_PIXELS = 10**12\n",
        "tests/readers/test_image.py -k bomb",
    ),
    Defect(
        "an answer that is no picture is handed on",
        "src/eyespan/readers/image.py",
        " or api_image_type(blobs[0]) != media_type:",
        ":",
        "tests/readers/test_image.py -k no_picture",
    ),
    Defect(
        "NULs are text",
        "src/eyespan/kinds.py",
        '    if b"\\0" in sample:\n        return True\n',
        "",
        "tests/test_conformance.py tests/dialects/test_reference.py",
    ),
    # --- the worker and its sandbox ---
    Defect(
        "answers of a worker of any make",
        "src/eyespan/worker/client.py",
        "if 4 + size + sum(lengths) != len(data):",
        "if False:",
        "tests/worker/test_client.py -k no_sense",
    ),
    Defect(
        "a crash of a decoder is an answer",
        "src/eyespan/worker/client.py",
        "    if number:\n",
        "    if False:\n",
        "tests/worker/test_client.py -k misbehaves",
    ),
    Defect(
        "a job may open files", "src/eyespan/sandbox/seccomp.py", "openat 257 56, ", "", "tests/sandbox/test_decoder.py"
    ),
    Defect(
        "a job may start processes",
        "src/eyespan/sandbox/decoder.py",
        "    ((56, 220), 0, _CLONE_THREAD),  # clone: a thread, not a process\n",
        "",
        "tests/sandbox/test_decoder.py",
    ),
    Defect(
        "Landlock is said to stand and does not",
        "src/eyespan/sandbox/decoder.py",
        " and self._ruleset.restrict()",
        "",
        "tests/sandbox/test_decoder.py",
    ),
    Defect(
        "a job may use any memory",
        "src/eyespan/sandbox/decoder.py",
        '            process.limit("AS", self._memory_bytes),  # macOS accepts this one and ignores it\n',
        "",
        "tests/worker tests/readers/test_image.py -k 'memory or misbehaves'",
    ),
    Defect(
        "a job inherits descriptors",
        "src/eyespan/worker/fork_server.py",
        "        os.closerange(_ANSWER + 1, _MOST_FDS)\n",
        "",
        "tests/worker/test_client.py -k two_descriptors",
    ),
    # --- rules ---
    Defect(
        "rules look at case",
        "src/eyespan/policy.py",
        "        return path.lower()\n",
        "        return path\n",
        "tests/test_policy.py -k case",
    ),
    Defect(
        "rules look at what has no shape",
        "src/eyespan/policy.py",
        ".casefold().translate(_no_shape))",
        ".casefold())",
        "tests/test_policy.py -k invisible",
    ),
    Defect(
        "a folder's rule forgets what is below",
        "src/eyespan/policy.py",
        '        if pattern.endswith("/"):\n',
        "        if False:\n",
        "tests/test_policy.py -k grammar",
    ),
    Defect(
        "a workspace's own file may allow",
        "src/eyespan/config.py",
        "        if allow:\n",
        "        if False:\n",
        "tests/cli/test_cli.py -k widen",
    ),
    # --- text ---
    Defect(
        "lone surrogates leave",
        "src/eyespan/tool.py",
        "    except UnicodeEncodeError:\n        return False\n",
        "    except UnicodeEncodeError:\n        return True\n",
        "tests/test_tool.py -k unicode",
    ),
    Defect(
        "an index of another file is believed",
        "src/eyespan/lines/cache.py",
        "return index.stamp is not None and index.stamp == stamp_of(source.status)",
        "return True",
        "tests/lines/test_index.py -k no_change",
    ),
    Defect(
        "a damaged index is believed",
        "src/eyespan/lines/cache.py",
        "if digest(body) != data[-16:]:",
        "if False:",
        "tests/lines/test_index.py -k damaged",
    ),
    Defect(
        "C counts all line feeds but the last",
        f"{NATIVE}/fast.c",
        "for (; n; n--, p++)",
        "for (; n > 1; n--, p++)",
        "tests/native/test_twins.py -k count",
    ),
    Defect(
        "C takes surrogates for characters",
        f"{NATIVE}/fast.c",
        "lead == 0xED ? 0x9F : 0x8F",
        "lead == 0xED ? 0xBF : 0x8F",
        "tests/native/test_twins.py",
    ),
    # --- the server ---
    Defect(
        "any Host is ours",
        "src/eyespan/server/http/checks.py",
        " or host[0].lower() not in self._hosts",
        "",
        "tests/server/test_mcp_http.py -k refused_and_how",
    ),
    Defect(
        "any Origin is taken",
        "src/eyespan/server/http/checks.py",
        "(len(origin) != 1 or origin[0].lower() not in self._origins)",
        "len(origin) != 1",
        "tests/server/test_mcp_http.py -k refused_and_how",
    ),
    Defect(
        "a body of any length",
        "src/eyespan/server/http/checks.py",
        "                if len(body) > MAX_BODY_BYTES:\n",
        "                if False:\n",
        "tests/server/test_mcp_http.py -k chunks",
    ),
    Defect(
        "any token is known",
        "src/eyespan/server/auth.py",
        "if hmac.compare_digest(digest, given):",
        "if digest[:1]:",
        "tests/server/test_mcp_auth.py -k in_full",
    ),
    Defect(
        "a token file for everybody's eyes",
        "src/eyespan/server/auth.py",
        "stat.S_IMODE(mode) & 0o077",
        "stat.S_IMODE(mode) & 0",
        "tests/server/test_mcp_auth.py -k others_can_read",
    ),
    Defect(
        "tokens meant for other servers",
        "src/eyespan/server/auth.py",
        '"require": ["exp", "iss", "aud"]',
        '"require": ["exp", "iss", "aud"], "verify_aud": False',
        "tests/server/test_mcp_auth.py -k access_tokens",
    ),
    Defect(
        "wrong tokens may be tried for ever",
        "src/eyespan/server/http/checks.py",
        "wait = self._failures.wait_seconds(address)",
        "wait = 0.0",
        "tests/server/test_mcp_http.py -k made_to_wait",
    ),
]


class Copy:
    """The checkout in a folder of its own, to be harmed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=HERE, capture_output=True, check=True,
        )  # fmt: skip
        for name in listed.stdout.decode().split("\0"):
            if name and (HERE / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(HERE / name, folder / name)
        self.environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        self.build()
        where = self._python("-c", "import eyespan; print(eyespan.__file__)").stdout.strip()
        if Path(where) != folder / "src/eyespan/__init__.py":
            raise SystemExit(f"the copy is not what would be tested, but {where}")

    def build(self) -> None:
        """Compiles the accelerator of the copy, with the flags of the build hook."""
        hook = types.ModuleType("hatchling.builders.hooks.plugin.interface")
        hook.BuildHookInterface = object  # all that the hook's module asks of it  # type: ignore[attr-defined]
        sys.modules.setdefault(hook.__name__, hook)
        sys.path.insert(0, str(HERE))
        from hatch_build import compile_module

        sys.path.pop(0)
        problem = compile_module(self.root / NATIVE)
        if problem:
            raise SystemExit(f"the accelerator cannot be built: {problem}")

    def _python(self, *arguments: str, seconds: float | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            errors="replace",  # a test that fails may show anything
            timeout=seconds,
        )

    def red(self, tests: str) -> str | None:
        """The first test that fails; None if all pass. No test at all is a mistake of this list."""
        try:
            done = self._python("-m", "pytest", "-x", "-q", "-p", "no:randomly", *shlex.split(tests), seconds=SECONDS)
        except subprocess.TimeoutExpired:
            return f"no end within {SECONDS} s"
        if done.returncode == 0:
            return None
        if done.returncode == 5:
            raise SystemExit(f"no such tests: {tests}")
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))]
        return lines[0].partition(" ")[2].partition(" - ")[0] if lines else (done.stdout + done.stderr)[-200:].strip()

    def harmed(self, defect: Defect) -> str | None:
        """What notices the defect's expected tests; None if nothing does."""
        path = self.root / defect.file
        sound = path.read_text()
        path.write_text(sound.replace(defect.old, defect.new))
        try:
            if path.suffix == ".c":
                self.build()
            return self.red(defect.tests)
        finally:
            path.write_text(sound)
            if path.suffix == ".c":
                self.build()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", help="words of the names of the defects to try")
    parser.add_argument("--whole", action="store_true", help="run the whole suite where the expected tests stay green")
    parser.add_argument("--list", action="store_true", help="only check that every text is found exactly once")
    given = parser.parse_args()
    rotten = [d.name for d in DEFECTS if (HERE / d.file).read_text().count(d.old) != 1]
    for name in rotten:
        print(f"its text is not found exactly once: {name}", file=sys.stderr)
    if rotten or given.list:
        print(f"{len(DEFECTS)} defects")
        return 1 if rotten else 0
    chosen = [d for d in DEFECTS if not given.only or any(word in d.name for word in given.only)]
    survivors = 0
    print("| defect | file | verdict | by |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="eyespan-mutate-") as made:
        copy = Copy(Path(made).resolve())
        for defect in chosen:
            started = time.monotonic()
            by = copy.harmed(defect)
            if by is None and given.whole and not defect.equivalent:
                by = copy.harmed(defect._replace(tests="tests"))
            if by is not None:
                verdict = "caught"
            elif defect.equivalent:
                verdict, by = "changes nothing", defect.equivalent
            else:
                verdict, by = "**survived**", f"not by {defect.tests}"
                survivors += 1
            by = by.replace("|", "\\|").replace("\n", " ")
            print(f"| {defect.name} | {defect.file.removeprefix('src/eyespan/')} | {verdict} | {by} |", flush=True)
            print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print(f"\n{len(chosen)} defects, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
