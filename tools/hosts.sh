#!/usr/bin/env bash
# Test with real hosts. Installs Claude Code, Codex and Gemini CLI from npm into a cache directory (once, 900 MB) and runs
# each against a scripted model on loopback: `eyespan setup` writes its configuration, the host starts our server and calls
# the tool twelve times, the blocks that reach the model are compared with the library's answers, and `--remove` restores
# the file. Then the filesystem toolset is compared with the reference server in its place, and the plugin, the bundle and
# the second distribution are installed from wheels and run.
# Connects only to package indexes and needs no account.
set -euo pipefail
cd "$(dirname "$0")/.."

cache="${XDG_CACHE_HOME:-$HOME/.cache}/eyespan/hosts"
packages=(@anthropic-ai/claude-code@2.1.328 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 @anthropic-ai/mcpb@2.1.2)
python="${EYESPAN_PYTHON:-.venv/bin/python}"

if [ "$(cat "$cache/node/.packages" 2>/dev/null)" != "${packages[*]}" ]; then
    echo "setting up the hosts in $cache/node (once)"
    mkdir -p "$cache/node"
    npm install --prefix "$cache/node" --no-audit --no-fund --loglevel=error "${packages[@]}"
    echo "${packages[*]}" > "$cache/node/.packages"
fi

if [ ! -x "$cache/uv/bin/uv" ]; then
    "${PYTHON:-python3}" -m venv "$cache/uv"
    "$cache/uv/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.7
fi

export EYESPAN_HOSTS_UV="$cache/uv/bin/uv" UV_CACHE_DIR="$cache/uv-cache"
export EYESPAN_HOSTS_BIN="$cache/node/node_modules/.bin"
"$python" -m pytest tests/extras/hosts/test_real_hosts.py tests/extras/hosts/test_replacement.py tests/extras/hosts/test_installation.py -rs "$@"
echo "hosts: real hosts ok"
