#!/bin/sh
# install.sh [DEST] - Microsoft's own client of the Debug Adapter Protocol (npm, package-lock.json), and DEST/schema.json,
# a JSON schema made of the protocol's declarations. DEST is tests/.cache/dap unless given. Run it again at will: packages
# that are there already are left alone. No root needed.
# Needs: npm and Node.js 20 or newer.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
DEST=${1:-$HERE/../.cache/dap}
command -v npm > /dev/null || { echo "npm not found: install Node.js 20 or newer first" >&2; exit 1; }
mkdir -p "$DEST"; DEST=$(cd "$DEST" && pwd)

stamp=$(cat "$HERE/package.json" "$HERE/package-lock.json" "$HERE/schema.mjs" | cksum)
if [ "$(cat "$DEST/.done" 2> /dev/null)" = "$stamp" ] && [ -s "$DEST/schema.json" ]; then
  echo "Microsoft's debug client: already there"; exit 0
fi
LOG=$DEST/install.log
failed() { tail -n 25 "$LOG" >&2; exit 1; }
rm -rf "$DEST/.done" "$DEST/node_modules" "$DEST/schema.json"; : > "$LOG"
cp "$HERE/package.json" "$HERE/package-lock.json" "$DEST"
npm ci --prefix "$DEST" --ignore-scripts --no-audit --no-fund --no-update-notifier --fetch-retries=1 \
  --fetch-timeout=60000 --loglevel=error >> "$LOG" 2>&1 < /dev/null || failed
node "$HERE/schema.mjs" "$DEST" >> "$LOG" 2>&1 || failed
echo "$stamp" > "$DEST/.done"
echo "Microsoft's debug client: installed, $(du -sm "$DEST" | cut -f1) MB"
