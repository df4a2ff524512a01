#!/bin/sh
# Runs the tests of the C accelerator under AddressSanitizer and UndefinedBehaviorSanitizer, once as built for this
# processor and once as built for those without SSE2. Arguments go to pytest. PYTHON and CC choose the tools (gcc).
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
python=${PYTHON:-python3}
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
cp -R "$root/src" "$work/src"
for variant in "" -DEYESPAN_PORTABLE; do
    echo "fuzz_native: ${variant:-SSE2 where the processor has it}"
    "$cc" -std=gnu11 -O1 -g -Wall -Wextra -Werror -fno-omit-frame-pointer -fPIC -shared -pthread \
        -fsanitize=address,undefined -fno-sanitize-recover=all $variant \
        "-I$include" "$work/src/eyespan/_native/fast.c" -o "$work/src/eyespan/_native/_fast.abi3.so"
    # PYTHONMALLOC=malloc: Python's own allocator would hide where a small bytes object ends.
    # Leaks are not looked for: Python itself keeps memory at exit. --capture=sys: the report of a crash must be seen.
    LD_PRELOAD=$("$cc" -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
        PYTHONPATH="$work/src" EYESPAN_PURE= PYTHONDONTWRITEBYTECODE=1 \
        "$python" -m pytest "$root/tests/native" "$root/tests/test_tokens.py" "$root/tests/guard/test_opened.py" --rootdir "$root" --capture=sys "$@"
done
