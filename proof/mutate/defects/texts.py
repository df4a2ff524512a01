"""Defects in the cache of line indexes, in the estimate of tokens and in old workbooks."""

from proof.mutate.defect import SRC, Defect

CACHE = "tests/lines/test_index_cache.py"
BIFF = "tests/extras/documents/sheets/test_biff.py"

DEFECTS = (
    # --- the cache of line indexes ---
    Defect(
        name="the cache in memory has no limit",
        file=f"{SRC}/caches.py",
        old="while self.size_bytes > self.max_bytes or len(self._entries) > self.max_entries:",
        new="while len(self._entries) > self.max_entries:",
        tests=f"{CACHE} -k in_memory",
    ),
    Defect(
        name="the caches in memory have no limit together",
        file=f"{SRC}/caches.py",
        old="            _shrink(MAX_BYTES)\n",
        new="",
        tests="tests/test_caches.py",
    ),
    Defect(
        name="all entries stay after a call that takes much memory",
        file=f"{SRC}/caches.py",
        old="        _shrink(REST_BYTES)\n",
        new="        pass\n",
        tests="tests/test_caches.py",
    ),
    Defect(
        name="the last entry goes after a call that takes much memory",
        file=f"{SRC}/caches.py",
        old="and sum(map(len, tables)) > 1:",
        new="and tables:",
        tests="tests/test_caches.py",
    ),
    Defect(
        name="an entry of a cache that is used counts as the oldest",
        file=f"{SRC}/caches.py",
        old="self._entries[key] = value, size_bytes, self._clock()\n            return value",
        new="self._entries = {key: entry, **self._entries}\n            return value",
        tests="tests/test_caches.py",
    ),
    Defect(
        name="a call that takes much memory drops nothing from caches",
        file=f"{SRC}/memory.py",
        old="            caches.shrink()\n",
        new="",
        tests="tests/test_caches.py",
    ),
    Defect(
        name="the memory of an outline does not count its texts",
        file=f"{SRC}/outline/cache.py",
        old="200 + size(one.name) + size(one.qualified) + size(one.signature)",
        new="200",
        tests="tests/outline/test_cache.py -k size",
    ),
    Defect(
        name="a definition that goes on after its end is certain",
        file=f"{SRC}/extras/languages/alignment.py",
        old="return following > columns[one.line - 1] or",
        new="return",
        tests="tests/extras/languages/test_alignment.py",
    ),
    Defect(
        name="a definition with an error inside is certain",
        file=f"{SRC}/extras/languages/alignment.py",
        old="return error if error and",
        new="return 0 if error and",
        tests="tests/extras/languages/test_alignment.py",
    ),
    Defect(
        name="a definition of Scala ends in the next one",
        file=f"{SRC}/extras/languages/grammars.py",
        old="    while (last := _last_child(node)) is not None:\n        node = last\n",
        new="",
        tests="tests/extras/languages/test_constructs.py -k scala",
    ),
    Defect(
        name="the body of a function of Dart is lost",
        file=f"{SRC}/extras/languages/grammars.py",
        old='following.type == "function_body"',
        new="False",
        tests="tests/extras/languages/test_constructs.py -k dart",
    ),
    Defect(
        name="a missing grammar is looked for again in the sandbox",
        file=f"{SRC}/extras/languages/grammars.py",
        old="    if language not in _grammars:\n",
        new="    if not _grammars.get(language):\n",
        tests="tests/extras/languages/test_grammars.py -k once",
    ),
    Defect(
        name="blocks are ended by braces that do not match, without doubt",
        file=f"{SRC}/extras/languages/blocks.py",
        old="if self.is_balanced or paired == line else",
        new="if True else",
        tests="tests/extras/languages/test_languages.py -k do_not_match",
    ),
    Defect(
        name="the names of a directory are not counted",
        file=f"{SRC}/guard/names.py",
        old='size_bytes += len(name.encode("utf-8", "surrogatepass")) + 1',
        new="size_bytes += 1",
        tests="tests/guard/test_names.py -k bounded",
    ),
    Defect(
        name="an index of a file that changed during the scan is cached",
        file=f"{SRC}/source.py",
        old="            return not self.changed()\n",
        new="            return True\n",
        tests=f"{CACHE} -k changed_during",
    ),
    Defect(
        name="an index of a file whose times prove nothing is cached",
        file=f"{SRC}/source.py",
        old="> since_ns - RACY_NS:",
        new="> since_ns + 2**63:",
        tests=f"{CACHE} -k young_times",
    ),
    # --- old workbooks ---
    Defect(
        name="an older workbook is called corrupt",
        file=f"{SRC}/extras/documents/sheets/xls.py",
        old="old if data.startswith(STARTS) else _CORRUPT",
        new="_CORRUPT",
        tests=f"{BIFF} -k before_1997",
    ),
    Defect(
        name="cells of old workbooks may be any distance apart",
        file=f"{SRC}/extras/documents/sheets/xls.py",
        old="        if (last_row - first_row + 1) * width > cells.MAX_CELLS:\n",
        new="        if False:\n",
        tests=f"{BIFF} -k far_apart",
    ),
    Defect(
        name="an encrypted workbook is read",
        file=f"{SRC}/extras/documents/sheets/biff.py",
        old="                raise Encrypted\n",
        new="                pass\n",
        tests=f"{BIFF} -k encrypted",
    ),
    Defect(
        name="29 February 1900 is no day",
        file=f"{SRC}/extras/documents/sheets/biff.py",
        old="    shift = 1 if not is_1904 and 0 <= days < _FALSE_LEAP_DAY else 0\n",
        new="    shift = 0\n",
        tests=f"{BIFF} -k 1900",
    ),
)
