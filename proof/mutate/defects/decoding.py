"""Defects in limits, decoders, the worker and its sandbox."""

from proof.mutate.defect import SRC, Defect

DEFECTS = (
    # --- limits ---
    Defect(
        name="no limit on the size of a file",
        file=f"{SRC}/engine.py",
        old="if limit is not None and source.size_bytes > limit:",
        new="if False:",
        tests="tests/test_conformance.py tests/dialects/test_reference.py",
    ),
    Defect(
        name="no limit on the bytes scanned",
        file=f"{SRC}/lines/scan.py",
        old="if self._error is not None and self.read(offset, 1):",
        new="if False:",
        tests="tests/lines/test_reader.py -k scan_ends",
    ),
    Defect(
        name="no limit on a window",
        file=f"{SRC}/lines/window.py",
        old="if len(self.data) + LINE_BYTES * self.line_count > self._max_window_bytes:",
        new="if False:",
        tests="tests/lines/test_reader.py -k window",
    ),
    Defect(
        name="lines are cut a byte late",
        file=f"{SRC}/_native/cuts.py",
        old="raw[:max_bytes]",
        new="raw[: max_bytes + 1]",
        tests="tests/dialects/test_reference.py tests/_native/test_twins.py",
    ),
    # --- decoders ---
    Defect(
        name="JSON may be of any depth",
        file=f"{SRC}/decoders/notebook.py",
        old="if depth > MAX_DEPTH:",
        new="if False:",
        tests="tests/readers/test_notebook.py",
    ),
    Defect(
        name="JSON may hold any number of values",
        file=f"{SRC}/decoders/notebook.py",
        old='if bare.count(b",") + len(brackets) // 2 > MAX_VALUES:',
        new="if False:",
        tests="tests/readers/test_notebook.py",
    ),
    Defect(
        name="a bomb is unpacked",
        file=f"{SRC}/sources/nested.py",
        old="if position > FREE_BYTES and position > MAX_RATIO * max(used, 1):",
        new="if False:",
        tests="tests/sources/test_archives.py -k bomb",
    ),
    Defect(
        name="a wrong checksum is accepted",
        file=f"{SRC}/sources/nested.py",
        old="if self._checksum is not None and self._crc != self._checksum:",
        new="if False:",
        tests="tests/sources/test_archives.py -k checksum",
    ),
    Defect(
        name="a member under another name is accepted",
        file=f"{SRC}/sources/zips.py",
        old="if _decode_name(name) != entry.name or not",
        new="if not",
        tests="tests/sources/test_archives.py -k another_name",
    ),
    Defect(
        name="a zip bomb in a document",
        file=f"{SRC}/decoders/ooxml.py",
        old="if entry.size_bytes > MIB and entry.size_bytes > MAX_RATIO * max(1, entry.packed_bytes):",
        new="if False:",
        tests="tests/decoders/test_ooxml.py -k bomb",
    ),
    Defect(
        name="images of any size are decoded",
        file=f"{SRC}/decoders/image.py",
        old="MAX_PIXELS = 100_000_000\n",
        new="MAX_PIXELS = 10**12\n",
        tests="tests/readers/test_image.py -k bomb",
    ),
    Defect(
        name="an answer that is no image is returned",
        file=f"{SRC}/readers/image.py",
        old=" or api_image_type(blobs[0]) != media_type:",
        new=":",
        tests="tests/readers/test_image.py -k without_an_image",
    ),
    Defect(
        name="NULs are text",
        file=f"{SRC}/lines/binary.py",
        old='    if b"\\0" in sample:\n        return True\n',
        new="",
        tests="tests/test_conformance.py tests/dialects/test_reference.py",
    ),
    # --- the worker and its sandbox ---
    Defect(
        name="a worker's answer is not checked",
        file=f"{SRC}/worker/protocol.py",
        old="if sum(lengths) != left_bytes or 4 + size != len(data):",
        new="if False:",
        tests="tests/worker/test_protocol.py -k invalid",
    ),
    Defect(
        name="a crash of a decoder is an answer",
        file=f"{SRC}/worker/protocol.py",
        old="    if number:\n",
        new="    if False:\n",
        tests="tests/worker/test_client.py -k misbehaves",
    ),
    Defect(
        name="a job may open files",
        file=f"{SRC}/sandbox/decoder.py",
        old='    "descriptors",\n',
        new='    "descriptors",\n    "files",\n',
        tests="tests/sandbox/test_seccomp.py",
    ),
    Defect(
        name="a job may start processes",
        file=f"{SRC}/sandbox/decoder.py",
        old='    Check("clone", 0, "has a bit", (_CLONE_THREAD,)),  # a thread, not a process\n',
        new="",
        tests="tests/sandbox/test_seccomp.py",
    ),
    Defect(
        name="Landlock is reported as active and is not",
        file=f"{SRC}/sandbox/decoder.py",
        old=" and self._ruleset.restrict()",
        new="",
        tests="tests/sandbox/test_decoder.py",
    ),
    Defect(
        name="a job may use any memory",
        file=f"{SRC}/sandbox/decoder.py",
        old='process.limit("AS", self._memory_bytes + _RESERVED_BYTES),',
        new="True,",
        tests="tests/worker tests/readers/test_image.py -k 'memory or misbehaves'",
    ),
    Defect(
        name="a job inherits descriptors",
        file=f"{SRC}/worker/fork_server.py",
        old="        os.closerange(_RESPONSE + 1, _MAX_FDS)\n",
        new="",
        tests="tests/worker/test_launch.py -k two_descriptors",
    ),
)
