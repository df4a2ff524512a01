"""Defects in the cache of line indexes, in the estimate of tokens and in old workbooks."""

from proof.mutate.defect import SRC, Defect

CACHE = "tests/lines/test_cache.py"
BIFF = "tests/decoders/test_biff.py"

DEFECTS = (
    # --- the cache of line indexes ---
    Defect(
        name="files that the cache did not write are removed",
        file=f"{SRC}/lines/cache.py",
        old="        if not (is_own_name or _is_own_name)(name):\n",
        new="        if False:\n",
        tests=f"{CACHE} -k removed",
    ),
    Defect(
        name="files of other users are removed from the cache",
        file=f"{SRC}/lines/cache.py",
        old="        if _is_own_file(status):\n            #",
        new="        if True:\n            #",
        tests=f"{CACHE} -k removed",
    ),
    Defect(
        name="a directory that others may enter is used as cache",
        file=f"{SRC}/lines/cache.py",
        old="status.st_uid == os.getuid() and not status.st_mode & 0o077",
        new="status.st_uid == os.getuid()",
        tests=f"{CACHE} -k private",
    ),
    Defect(
        name="a directory of another user is used as cache",
        file=f"{SRC}/lines/cache.py",
        old="        if status.st_uid == os.getuid() and not status.st_mode & 0o077:\n",
        new="        if not status.st_mode & 0o077:\n",
        tests=f"{CACHE} -k 'private or user'",
    ),
    Defect(
        name="a link is used as directory of the cache",
        file=f"{SRC}/lines/cache.py",
        old="os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC",
        new="os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC",
        tests=f"{CACHE} -k private",
    ),
    Defect(
        name="a link in the cache is followed",
        file=f"{SRC}/lines/cache.py",
        old="os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK",
        new="os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK",
        tests=f"{CACHE} -k not_followed",
    ),
    Defect(
        name="the cache on disk has no limit",
        file=f"{SRC}/lines/cache.py",
        old="        if total <= DISK_TOTAL_BYTES:\n            break\n",
        new="        break\n",
        tests=f"{CACHE} -k 'bounded or removed'",
    ),
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
        new="self._entries = {key: found, **self._entries}\n            return value",
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
        old="SYMBOL_BYTES + size(one.name) + size(one.qualified) + size(one.signature)",
        new="SYMBOL_BYTES",
        tests="tests/outline/test_cache.py -k size",
    ),
    Defect(
        name="the names of a directory are not counted",
        file=f"{SRC}/guard/names.py",
        old="DIRECTORY_BYTES + sys.getsizeof(names) +",
        new="DIRECTORY_BYTES +",
        tests="tests/guard/test_names.py -k bounded",
    ),
    Defect(
        name="an index of a file that changed during the scan is cached",
        file=f"{SRC}/lines/cache.py",
        old="        if not same and (now.st_size <= was.st_size or not source.is_file):\n",
        new="        if False:\n",
        tests=f"{CACHE} -k changed_during",
    ),
    Defect(
        name="an index of another inode is used",
        file=f"{SRC}/lines/cache.py",
        old="    if (header[0] ^ device) & _MASK or (header[1] ^ inode) & _MASK:\n",
        new="    if (header[0] ^ device) & _MASK:\n",
        tests=f"{CACHE} -k damaged",
    ),
    Defect(
        name="counts that do not add up are used",
        file=f"{SRC}/lines/cache.py",
        old=" or len(counts) * stride != header[5] * 4:\n",
        new=":\n",
        tests=f"{CACHE} -k add_up",
    ),
    # --- old workbooks ---
    Defect(
        name="an older workbook is called corrupt",
        file=f"{SRC}/decoders/xls.py",
        old="old if data.startswith(STARTS) else _CORRUPT",
        new="_CORRUPT",
        tests=f"{BIFF} -k before_1997",
    ),
    Defect(
        name="cells of old workbooks may be any distance apart",
        file=f"{SRC}/decoders/xls.py",
        old="        if (last_row - first_row + 1) * width > cells.MAX_CELLS:\n",
        new="        if False:\n",
        tests=f"{BIFF} -k far_apart",
    ),
    Defect(
        name="an encrypted workbook is read",
        file=f"{SRC}/decoders/biff.py",
        old="                raise Encrypted\n",
        new="                pass\n",
        tests=f"{BIFF} -k encrypted",
    ),
    Defect(
        name="29 February 1900 is no day",
        file=f"{SRC}/decoders/biff.py",
        old="    shift = 1 if not is_1904 and 0 <= days < _FALSE_LEAP_DAY else 0\n",
        new="    shift = 0\n",
        tests=f"{BIFF} -k 1900",
    ),
)
