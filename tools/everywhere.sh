#!/usr/bin/env bash
# Run the whole suite under every condition that a machine of a user may have, and print one row for each.
#
#   tools/everywhere.sh              every row; an hour and a half on two cores
#   tools/everywhere.sh root young   these rows
#
# Needs root on Linux, for another user, a clock near 0 and no network. The other Pythons are given in PYTHON_DEBIAN,
# PYTHON_312 and PYTHON_313. Each row runs the committed tree in a clone below build/everywhere, where its log stays.
set -u
cd "$(dirname "$0")/.."
HERE=$PWD
WORK=${EVERYWHERE:-$HERE/build/everywhere}
ROWS="root plain-user debian-python python-3.12 python-3.13 young busy-1 busy-2 busy-3 hash-seed-1 hash-seed-2 hash-seed-3
hash-seed-4 hash-seed-5 surroundings no-compiler no-network reversed fuzz-1 fuzz-2 fuzz-3 fuzz-4 fuzz-5"
USER_ID=65534
mkdir -p "$WORK"

# clone NAME [VARIABLE=VALUE...]: make a clone with its environment, once for all rows that share it.
clone() {
    local name=$1; shift
    if [ -d "$WORK/$name" ]; then git -C "$WORK/$name" fetch -q origin HEAD && git -C "$WORK/$name" reset -q --hard FETCH_HEAD; else git clone -q "$HERE" "$WORK/$name"; fi || return
    env "$@" make -s -C "$WORK/$name" .venv/.ready ${PYTHON_OF:+PYTHON="$PYTHON_OF"} >"$WORK/$name.setup.log" 2>&1 || return
    cd "$WORK/$name"
}

# for_user NAME: make a clone that belongs to another user, outside of root's directories.
for_user() {
    PLAIN=$(mktemp -d /tmp/everywhere.XXXXXX) && chmod 755 "$PLAIN" && mkdir -m 755 "$PLAIN/home" "$PLAIN/tmp" &&
        git clone -q "$HERE" "$PLAIN/clone" && chown -R $USER_ID:$USER_ID "$PLAIN" && cd "$PLAIN/clone"
}

as_user() {
    setpriv --reuid $USER_ID --regid $USER_ID --clear-groups env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$PLAIN/home" TMPDIR="$PLAIN/tmp" "$@"
}

row() {
    local loops=() status
    case $1 in
        root) clone own && make test ;;
        plain-user) for_user && as_user make test PYTHON="${PYTHON_DEBIAN:-/usr/bin/python3}" ;;
        debian-python) PYTHON_OF=${PYTHON_DEBIAN:-/usr/bin/python3} clone debian && make test ;;
        python-3.12) PYTHON_OF=${PYTHON_312:-python3.12} clone 3.12 && make test ;;
        python-3.13) PYTHON_OF=${PYTHON_313:-python3.13} clone 3.13 && make test ;;
        young) clone own && unshare --time --monotonic "-$(awk '{print int($1) - 1}' /proc/uptime)" make test ;;
        busy-*)
            for _ in 1 2 3 4; do (while :; do :; done) & loops+=($!); done
            clone own && make test
            status=$?
            kill "${loops[@]}"
            return $status ;;
        hash-seed-*) clone own && PYTHONHASHSEED=${1##*-} make test ;;
        surroundings)
            for_user && as_user make -s .venv/.ready PYTHON="${PYTHON_DEBIAN:-/usr/bin/python3}" && chmod 555 "$PLAIN/home" && umask 077 &&
                as_user LANG=C LC_ALL=C TZ=Asia/Kathmandu make test ;;
        no-compiler) clone pure CC=missing-compiler && make test ;;
        no-network) clone own && unshare --net sh -c 'ip link set lo up && make test' ;;
        reversed) clone own && PYTHONPATH="$PWD" PYTEST_ADDOPTS='-p tools.reversed_files' make test ;;
        fuzz-*) clone own && make fuzz SEED="${1##*-}" LENGTH=10 ;;
        *) echo "unknown row $1; the rows are:" $ROWS >&2; return 2 ;;
    esac
}

failed=0
for name in ${*:-$ROWS}; do
    start=$SECONDS
    if (PLAIN=; PYTHON_OF=; trap '[ -z "$PLAIN" ] || rm -rf "$PLAIN"' EXIT; row "$name") >"$WORK/$name.log" 2>&1; then result=green; else result=RED; failed=1; fi
    printf '%-14s %-5s %5d s  %s\n' "$name" $result $((SECONDS - start)) "$(grep -E '[0-9]+ (passed|failed)' "$WORK/$name.log" | tail -n 1)"
done
exit $failed
