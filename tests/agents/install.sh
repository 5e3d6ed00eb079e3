#!/bin/sh
# install.sh [DEST] [agent...] - the coding agents that the tests run, in pinned versions from
# npm: each in DEST/<agent>, started through DEST/bin/<agent>. DEST is tests/.cache/agents unless
# given. Run it again at will: what is there already is left alone. No root needed.
#   agents: claude cline codex copilot gemini opencode qwen (all of them if none is named), and aider, only if it is named
#   Another version: CLAUDE_VERSION=… CODEX_VERSION=… and so on
# Needs: npm and Node.js 20 or newer (Qwen Code asks for 22, and runs on 20). For aider: Python 3.10 to 3.12 with venv, or the
# one that AIDER_PYTHON names; it comes from PyPI, built packages only.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
DEST=${1:-$HERE/../.cache/agents}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- claude cline codex copilot gemini opencode qwen
mkdir -p "$DEST/bin"; DEST=$(cd "$DEST" && pwd)

add() { # DIR PACKAGE@VERSION; install scripts are not run
  npm install --prefix "$1" --ignore-scripts --no-audit --no-fund --no-update-notifier \
    --fetch-retries=1 --fetch-timeout=60000 --loglevel=error "$2" >> "$LOG" 2>&1 < /dev/null || { tail -n 25 "$LOG" >&2; exit 1; }
}

python_for_aider() { # the first Python that aider supports
  for python in ${AIDER_PYTHON:-python3.12 python3.11 python3.10 python3}; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2> /dev/null; then
      echo "$python"; return
    fi
  done
}

for a in "$@"; do
  case $a in
    aider) p=aider-chat; v=${AIDER_VERSION:-0.86.2};;
    claude) p=@anthropic-ai/claude-code; v=${CLAUDE_VERSION:-2.1.332};;
    # its program alone, without the library
    cline) p=@cline/cli-$(node -p 'process.platform + "-" + process.arch'); v=${CLINE_VERSION:-3.0.65};;
    codex) p=@openai/codex; v=${CODEX_VERSION:-0.169.0};;
    copilot) p=@github/copilot; v=${COPILOT_VERSION:-1.0.102};;
    gemini) p=@google/gemini-cli; v=${GEMINI_VERSION:-0.61.0};;
    opencode) p=opencode-ai; v=${OPENCODE_VERSION:-1.18.33};;
    qwen) p=@qwen-code/qwen-code; v=${QWEN_VERSION:-0.24.4};;
    *) echo "unknown agent '$a': aider claude cline codex copilot gemini opencode qwen" >&2; exit 2;;
  esac
  D=$DEST/$a LOG=$DEST/$a.log
  if [ -e "$D/.done-$v" ] && [ -x "$DEST/bin/$a" ]; then
    echo "$a $v: already there"; continue
  fi
  if [ "$a" = aider ]; then
    python=$(python_for_aider)
    [ -n "$python" ] || { echo "no Python 3.10 to 3.12 with venv found: aider is not installed" >&2; exit 1; }
    : > "$LOG"; rm -rf "$D"
    { "$python" -m venv "$D" && "$D/bin/pip" install --only-binary :all: --no-compile --disable-pip-version-check -q \
        "$p==$v"; } >> "$LOG" 2>&1 < /dev/null || { tail -n 25 "$LOG" >&2; exit 1; }
    ln -sfn "../$a/bin/$a" "$DEST/bin/$a"
    [ "$("$D/bin/python" -c "from importlib.metadata import version; print(version('$p'))")" = "$v" ] \
      || { echo "aider: wanted $v (see $LOG)" >&2; exit 1; }
    : > "$D/.done-$v"
    echo "$a $v: installed, $(du -sm "$D" | cut -f1) MB"
    continue
  fi
  command -v npm >/dev/null || { echo "npm not found: install Node.js 18 or newer first" >&2; exit 1; }
  : > "$LOG"; rm -rf "$D"; mkdir -p "$D"
  echo '{"private":true}' > "$D/package.json"
  add "$D" "$p@$v"
  case $a in    # the one install script that is needed, run by name
    claude) (cd "$D/node_modules/@anthropic-ai/claude-code" && node install.cjs) >> "$LOG" 2>&1 < /dev/null;;
    opencode)
      (cd "$D/node_modules/opencode-ai" && node postinstall.mjs) >> "$LOG" 2>&1 < /dev/null
      # its program lies in the package now; the platforms' packages are not needed after that
      rm -rf "$D"/node_modules/opencode-linux-* "$D"/node_modules/opencode-darwin-*
      # it installs this package into its folder of settings at each start, and stalls where it cannot
      mkdir -p "$D/seed"; echo '{"private":true}' > "$D/seed/package.json"
      add "$D/seed" "@opencode-ai/plugin@$v";;
  esac
  case $a in
    cline) ln -sfn "../$a/node_modules/$p/bin/$a" "$DEST/bin/$a";;
    *) ln -sfn "../$a/node_modules/.bin/$a" "$DEST/bin/$a";;
  esac
  got=$(env HOME="$D" "$DEST/bin/$a" --version 2>>"$LOG" </dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
  [ "$got" = "$v" ] || { echo "$a: wanted $v, '$a --version' says '${got:-nothing}' (see $LOG)" >&2; exit 1; }
  : > "$D/.done-$v"
  echo "$a $v: installed, $(du -sm "$D" | cut -f1) MB"
done
