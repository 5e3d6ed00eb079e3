#!/bin/sh
# alt-debian.sh - sourced by install.sh, which sets DEST (where one editor goes) and ALT_STATE.
#
# Brings programs of a newer Debian suite onto this machine, each into a folder
# of its own, and changes nothing of the system: no package is installed, the
# system's libc stays. The mirror's address is the one this machine's apt
# already uses. Packages are verified by apt (suite signature, then checksums).
#
#   ALT_SUITES    suites to take from, the first that works (default: "forky sid")
#   ALT_STATE     where apt's private state lies, so that several installs read the index once
set -eu
ALT_SUITES=${ALT_SUITES:-forky sid} ALT_SUITE=

alt_say() { printf '%s\n' "$*" >&2; }
alt_die() { alt_say "error: $*"; exit 1; }

# The address of the Debian archive in this machine's own apt configuration.
alt_mirror() {
  {
    apt-get indextargets --format '$(REPO_URI)' 2>/dev/null || true   # empty before the first apt-get update
    cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's/^URIs:[[:space:]]*//p' | tr ' ' '\n'
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | grep -E '^deb ' |
      sed -E 's/\[[^]]*\]//' | awk '{print $2}'
  } | sed 's#/*$##' | grep '/debian$' | head -n 1
}

# apt-get with a private state that knows of no installed package.
alt_apt() {
  apt-get -q \
    -o Dir::Etc::SourceList="$ALT_STATE/sources-$ALT_SUITE.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::Etc::PreferencesParts=/dev/null -o Dir::Etc::Preferences=/dev/null \
    -o Dir::State="$ALT_STATE/state" -o Dir::State::Lists="$ALT_STATE/lists-$ALT_SUITE" \
    -o Dir::State::status="$ALT_STATE/status" \
    -o Dir::Cache="$ALT_STATE/cache" -o Dir::Cache::pkgcache="" -o Dir::Cache::srcpkgcache="" \
    -o APT::Install-Recommends=false -o APT::Install-Suggests=false \
    -o APT::Sandbox::User=root -o Acquire::Languages=none \
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
    -o Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled=false \
    -o Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled=false \
    -o Acquire::IndexTargets::deb::DEP-11-icons-hidpi::DefaultEnabled=false \
    -o Acquire::IndexTargets::deb::CNF::DefaultEnabled=false \
    -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false \
    -o Acquire::Retries=3 "$@"
}

alt_index() {
  mkdir -p "$ALT_STATE/lists-$ALT_SUITE/partial" "$ALT_STATE/state" "$ALT_STATE/cache/archives/partial"
  : > "$ALT_STATE/status"
  ALT_KEY=/usr/share/keyrings/debian-archive-keyring.gpg
  [ -r "$ALT_KEY" ] || alt_die "no $ALT_KEY"
  m=$(alt_mirror); [ -n "$m" ] || alt_die "apt names no Debian archive"
  line="deb [signed-by=$ALT_KEY] $m $ALT_SUITE main"
  if [ "$(cat "$ALT_STATE/sources-$ALT_SUITE.list" 2>/dev/null)" = "$line" ] &&
     [ -n "$(find "$ALT_STATE/lists-$ALT_SUITE" -maxdepth 1 -name '*Packages*' -mmin -720 2>/dev/null)" ]; then
    return 0                                   # index is less than 12 h old
  fi
  printf '%s\n' "$line" > "$ALT_STATE/sources-$ALT_SUITE.list"
  alt_apt update >"$ALT_STATE/update.log" 2>&1 || { cat "$ALT_STATE/update.log" >&2; return 1; }
}

# alt_fetch PACKAGE... : the packages and all they depend on, unpacked in DEST/root.
alt_fetch() {
  dest=$DEST; debs=$dest/.debs; ok=
  for ALT_SUITE in $ALT_SUITES; do
    rm -rf "$debs"; mkdir -p "$debs/partial"
    alt_index || { alt_say "no index of $ALT_SUITE"; continue; }
    if alt_apt -o Dir::Cache::archives="$debs" --yes --download-only install "$@" >"$dest/fetch.log" 2>&1; then
      ok=1; break
    fi
    alt_say "$ALT_SUITE has no installable $*:"; tail -n 5 "$dest/fetch.log" >&2
  done
  [ -n "$ok" ] || alt_die "could not fetch $*"
  rm -rf "$dest/root.new"; mkdir -p "$dest/root.new"
  # merged /usr, before anything lands in /lib or /lib64
  mkdir -p "$dest/root.new/usr/lib" "$dest/root.new/usr/lib64" "$dest/root.new/usr/bin" "$dest/root.new/usr/sbin"
  for d in lib lib64 bin sbin; do ln -s "usr/$d" "$dest/root.new/$d"; done
  for f in "$debs"/*.deb; do
    dpkg-deb --fsys-tarfile "$f" |
      tar -x -C "$dest/root.new" --keep-directory-symlink --no-same-owner \
          --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' \
          --exclude='./usr/share/i18n/*' --exclude='./usr/lib/locale/*' --exclude='./var/*' --exclude='./dev/*'
  done
  rm -rf "$dest/root"; mv "$dest/root.new" "$dest/root"
  if [ -z "${ALT_KEEP_DEBS:-}" ]; then rm -rf "$debs"; fi
}

# alt_run PROGRAM ARG... : runs an unpacked program (path below DEST/root) on the
# unpacked loader and libraries.
alt_run() {
  prog=$1; shift
  "$ALT_LD" --library-path "$ALT_LIBS" "$DEST/root/$prog" "$@"
}

# alt_bind FILE : makes FILE (below DEST/root) start on DEST's own loader and
# libraries by itself. Better than a wrapper that calls the loader: the program
# stays its own /proc/self/exe (nvim starts itself anew by that path for its
# terminal front end), and its children keep the system's libraries.
# Needs the package patchelf among those fetched.
alt_bind() {
  ALT_LD=$(ls "$DEST"/root/lib64/ld-linux-*.so.* "$DEST"/root/lib/ld-linux-*.so.* 2>/dev/null | head -n 1)
  tri=$(basename "$(dirname "$(ls -d "$DEST"/root/usr/lib/*/libc.so.6)")")
  ALT_LIBS=$DEST/root/usr/lib/$tri
  alt_run usr/bin/patchelf --set-interpreter "$ALT_LD" --force-rpath --set-rpath "$ALT_LIBS" \
    --output "$DEST/root/$1.bound" "$DEST/root/$1"
  mv "$DEST/root/$1.bound" "$DEST/root/$1"; chmod 755 "$DEST/root/$1"
}
