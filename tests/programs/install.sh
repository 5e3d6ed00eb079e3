#!/bin/sh
# install.sh [DEST] - the Python packages of the programs that the tests pause (requirements.txt), built and in pinned
# versions. DEST is tests/.cache/programs unless given; DEST/bin/python is a Python that has them. Run it again at will:
# packages that are there already are left alone. No root needed.
#
# They go into a virtual environment. Where the machine's Python can make none (Debian without python3-venv), they go
# into a folder, and DEST/bin/python is the machine's Python with that folder on its path.
# Needs: Python 3.11 or newer, with venv or pip.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
DEST=${1:-$HERE/../.cache/programs}
command -v python3 > /dev/null || { echo "python3 not found: install Python 3.11 or newer first" >&2; exit 1; }
mkdir -p "$DEST"; DEST=$(cd "$DEST" && pwd)

# the place belongs to it, since a virtual environment cannot be moved
stamp=$({ cat "$HERE/requirements.txt"; python3 -c 'import sys; print(sys.version, sys.executable)'; echo "$DEST"; } | cksum)
packages='import flask, numpy, pandas, pytest; print("flask", __import__("importlib.metadata").metadata.version("flask"),
    "numpy", numpy.__version__, "pandas", pandas.__version__, "pytest", pytest.__version__)'
if [ "$(cat "$DEST/.done" 2> /dev/null)" = "$stamp" ] && "$DEST/bin/python" -c '' 2> /dev/null; then
  echo "programs' packages: already there"; exit 0
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
got=$("$DEST/bin/python" -c "$packages" 2>> "$LOG") || { tail -n 25 "$LOG" >&2; exit 1; }
echo "$stamp" > "$DEST/.done"
echo "programs' packages: installed ($got), $(du -sm "$DEST" | cut -f1) MB"
