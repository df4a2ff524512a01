#!/usr/bin/env bash
# Test with real hosts. Installs Claude Code and Codex from npm into a cache directory (once, 700 MB) and runs each
# against a fake model on loopback: the host starts our server and calls the tool, and the text that reaches the model is
# compared with the tool's answer; the filesystem toolset also with the reference server in its place. Then validates and runs the plugin, the bundle and the second distribution.
# Connects only to package indexes and needs no account.
set -euo pipefail
cd "$(dirname "$0")/.."

cache="${XDG_CACHE_HOME:-$HOME/.cache}/eyespan/hosts"
packages=(@anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0 @anthropic-ai/mcpb@2.1.2)
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
