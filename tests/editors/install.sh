#!/bin/sh
# install.sh [DEST] [helix|emacs|nvim...] - the editors that the tests drive, each in DEST/<editor>, started
# through DEST/bin/<hx|emacs|nvim>. DEST is tests/.cache/editors unless given; without names, all of them.
# Run it again at will: what is there and works is left alone. No root needed.
#
# They come from a newer Debian suite than this machine's, unpacked beside the system, which stays as it is.
# The suite moves on, and so do the versions; e2e/editors says what that means for the reference screens.
# Needs: Debian or a descendant that has apt's archive keys, dpkg-deb, tar.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
ALL=${1:-$HERE/../.cache/editors}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- helix nvim emacs
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
  alt_fetch emacs-nox patchelf
  alt_bind usr/bin/emacs-nox
  # not needed to run it: the compiler half of libgccjit (the library itself is)
  rm -rf "$R"/usr/lib/gcc "$R"/usr/share/info
  data=$(ls -d "$R"/usr/share/emacs/[0-9]*.[0-9]* | head -n 1)
  exec=$(ls -d "$R"/usr/libexec/emacs/"$(basename "$data")"/*/ | head -n 1); exec=${exec%/}
  image=$(ls "$exec"/emacs-*.pdmp | head -n 1)
  # no compiling in the background, and what Emacs starts does not inherit what is set for it
  mkdir -p "$DEST/site"
  cat > "$DEST/site/site-start.el" <<'L'
(setq native-comp-jit-compilation nil native-comp-enable-subr-trampolines nil)
(dolist (v '("EMACSLOADPATH" "EMACSDATA" "EMACSDOC" "EMACSPATH")) (setenv v nil))
L
  starter emacs "EMACSLOADPATH='$DEST/site:$data/lisp' EMACSDATA='$data/etc' EMACSDOC='$data/etc' EMACSPATH='$exec' \\
  exec '$R/usr/bin/emacs-nox' --dump-file='$image' \"\$@\""
}

for editor; do
  DEST=$ALL/$editor R=$ALL/$editor/root
  case $editor in
    helix) program=hx;;
    nvim|emacs) program=$editor;;
    *) echo "unknown editor '$editor': helix, nvim, emacs" >&2; exit 2;;
  esac
  if [ -e "$DEST/.done" ] && "$ALL/bin/$program" --version > /dev/null 2>&1; then
    echo "$editor: already there, $("$ALL/bin/$program" --version | head -n 1)"; continue
  fi
  rm -rf "$DEST"; mkdir -p "$DEST"
  "$editor"
  ln -sfn "../$editor/bin/$program" "$ALL/bin/$program"
  version=$("$ALL/bin/$program" --version | head -n 1)
  : > "$DEST/.done"
  echo "$editor: installed, $version, $(du -sm "$DEST" | cut -f1) MB"
done
rm -rf "$ALT_STATE"
