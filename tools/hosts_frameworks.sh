#!/usr/bin/env bash
# Test the adapters with the frameworks themselves: installs the frameworks into a cache directory (once, half a minute,
# 360 MB), checks the types of the adapters against theirs, runs all of tests/extras/hosts and the snippets of the pages.
set -euo pipefail
cd "$(dirname "$0")/.."

cache="${XDG_CACHE_HOME:-$HOME/.cache}/eyespan/hosts"
venv="$cache/frameworks"
packages=(
    anthropic==2.8.0 openai==3.49.0
    langchain==1.4.7 langchain-core==1.7.2 openai-agents==0.24.0 pydantic-ai-slim==2.66.0 google-adk==2.13.0
    chardet google-re2 pathspec pillow pygments pypdfium2
    hypothesis mypy pytest
)

if [ "$(cat "$venv/.packages" 2>/dev/null)" != "${packages[*]}" ]; then
    echo "setting up the frameworks in $venv (once)"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
    echo "${packages[*]}" > "$venv/.packages"
fi

export PYTHONPATH="$PWD/src" PYTHONDONTWRITEBYTECODE=1
"$venv/bin/mypy" --cache-dir "$cache/mypy" src/eyespan/extras/hosts
# A skipped test means an untested framework, which is a failure. tools/hosts.sh tests real hosts.
# The frameworks leave sockets and event loops open, so warnings about these are no failure.
"$venv/bin/python" -m pytest -W ignore::ResourceWarning tests/extras/hosts --ignore-glob '*_real_hosts.py' --ignore-glob '*_installation.py' --ignore-glob '*_replacement.py' -rs --junitxml "$cache/frameworks.xml" "$@"
skipped="$("$venv/bin/python" -c 'import sys, xml.etree.ElementTree as t; print(next(t.parse(sys.argv[1]).iter("testsuite")).get("skipped"))' "$cache/frameworks.xml")"
[ "$skipped" = 0 ] || { echo "hosts: $skipped tests were skipped" >&2; exit 1; }
# The snippets of the pages with the real SDKs of the model APIs, against a fake of each API.
"$venv/bin/python" -m pytest -W ignore::ResourceWarning tests/test_snippets.py -k 'a_block_works and (README or docs/hosts or cookbook or text-editor)'
echo "hosts: frameworks ok"
