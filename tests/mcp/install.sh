#!/bin/sh
# install.sh [DEST] - the protocol's own Python SDK, by which a test is a client of `backstitch mcp` (requirements.txt),
# built and in pinned versions. DEST is tests/.cache/mcp unless given; DEST/bin/python is a Python that has it. Run it
# again at will: packages that are there already are left alone. No root needed.
#
# They go into a virtual environment. Where the machine's Python can make none (Debian without python3-venv), they go
# into a folder, and DEST/bin/python is the machine's Python with that folder on its path.
# Needs: Python 3.11 or newer, with venv or pip.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
DEST=${1:-$HERE/../.cache/mcp}
command -v python3 > /dev/null || { echo "python3 not found: install Python 3.11 or newer first" >&2; exit 1; }
mkdir -p "$DEST"; DEST=$(cd "$DEST" && pwd)

# the place belongs to it, since a virtual environment cannot be moved
stamp=$({ cat "$HERE/requirements.txt"; python3 -c 'import sys; print(sys.version, sys.executable)'; echo "$DEST"; } | cksum)
version='import mcp; print("mcp", __import__("importlib.metadata").metadata.version("mcp"))'
if [ "$(cat "$DEST/.done" 2> /dev/null)" = "$stamp" ] && "$DEST/bin/python" -c '' 2> /dev/null; then
  echo "the protocol's client: already there"; exit 0
fi
LOG=$DEST/install.log
rm -rf "$DEST/.done" "$DEST/bin" "$DEST/venv" "$DEST/site"; : > "$LOG"; mkdir "$DEST/bin"

install() { # PYTHON OPTION...: with its pip
  python=$1; shift
  PIP_ROOT_USER_ACTION=ignore "$python" -m pip --disable-pip-version-check --quiet install --only-binary :all: --no-deps \
    --retries 1 --timeout 60 "$@" -r "$HERE/requirements.txt" >> "$LOG" 2>&1 < /dev/null
}
# links to the file itself would not find their environment
if python3 -m venv "$DEST/venv" >> "$LOG" 2>&1; then
  install "$DEST/venv/bin/python" || { tail -n 25 "$LOG" >&2; exit 1; }
  run="exec '$DEST/venv/bin/python'"
else
  rm -rf "$DEST/venv"
  install python3 --target "$DEST/site" || { tail -n 25 "$LOG" >&2; exit 1; }
  run="PYTHONPATH='$DEST/site'\${PYTHONPATH:+:\$PYTHONPATH} exec '$(command -v python3)'"
fi
printf '#!/bin/sh\n%s "$@"\n' "$run" > "$DEST/bin/python"
chmod +x "$DEST/bin/python"
got=$("$DEST/bin/python" -c "$version" 2>> "$LOG") || { tail -n 25 "$LOG" >&2; exit 1; }
echo "$stamp" > "$DEST/.done"
echo "the protocol's client: installed ($got), $(du -sm "$DEST" | cut -f1) MB"
