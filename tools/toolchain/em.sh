#!/bin/sh
# Runs a command where a new enough Emscripten is at hand:
#   tools/toolchain/em.sh cmake --preset web
#   tools/toolchain/em.sh cmake --build --preset web
# In this order: emcc on PATH or an activated emsdk, Debian's own package, a private Debian 13 root
# (root.sh). The private root sees the source tree, /tmp, the libraries' folder and the folders named in
# NOVASCOPE_BIND (space separated) at their own paths, in a mount namespace that ends with the command.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/common.sh"
source_tree=$(CDPATH= cd -- "$here/../.." && pwd -P)
oldest=3.1.69

[ $# -gt 0 ] || fail "em.sh needs a command to run"

# new_enough EMCC: its version is $oldest or later.
new_enough() {
  version=$("$1" --version 2>/dev/null </dev/null | sed -n '1s/.*[^0-9.]\([0-9][0-9]*\.[0-9.]*[0-9]\).*/\1/p')
  [ -n "$version" ] && [ "$(printf '%s\n' "$oldest" "$version" | sort -V | head -n 1)" = "$oldest" ]
}

candidate_version() {
  apt-cache policy emscripten 2>/dev/null | sed -n 's/.*Candidate: //p'
}

# debian_has_it: apt's candidate is new enough. A new machine has no package lists yet.
debian_has_it() {
  have apt-cache || return 1
  candidate=$(candidate_version)
  if [ -z "$candidate" ] && is_root; then
    apt-get update </dev/null >/dev/null 2>&1 || true
    candidate=$(candidate_version)
  fi
  case $candidate in '' | '(none)') return 1 ;; esac
  dpkg --compare-versions "$candidate" ge "$oldest"
}

emcc=
if have emcc && new_enough emcc; then
  emcc=$(command -v emcc)
elif [ -n "${EMSDK:-}" ] && new_enough "$EMSDK/upstream/emscripten/emcc"; then
  emcc=$EMSDK/upstream/emscripten/emcc
elif debian_has_it; then
  install_packages emscripten cmake ninja-build
  emcc=$(command -v emcc)
fi

NOVASCOPE_DEPS=${NOVASCOPE_DEPS:-$("$here/deps.sh")}
export NOVASCOPE_DEPS

if [ -n "$emcc" ]; then
  tools=$(dirname -- "$(readlink -f -- "$emcc")")
  NOVASCOPE_EMSCRIPTEN=$tools PATH=$tools:$PATH exec "$@"
fi

root=$("$here/root.sh")
is_root || fail "entering the private Debian 13 root needs root: run this with sudo, or install" \
  "Emscripten $oldest or newer (an activated emsdk)"
need_commands unshare:util-linux
ROOT=$root BINDS="$source_tree /tmp $NOVASCOPE_DEPS ${NOVASCOPE_BIND:-}" WHERE=$(pwd -P) exec unshare -m sh -c '
  set -eu
  mount --make-rprivate /
  mount -t proc proc "$ROOT/proc"
  mount --rbind /dev "$ROOT/dev"
  for path in $BINDS; do
    mkdir -p "$ROOT$path"
    mount --bind "$path" "$ROOT$path"
  done
  exec chroot "$ROOT" /usr/bin/env -i PATH=/usr/share/emscripten:/usr/bin:/bin:/usr/sbin:/sbin \
    HOME=/root LC_ALL=C.UTF-8 TERM="${TERM:-dumb}" NOVASCOPE_EMSCRIPTEN=/usr/share/emscripten \
    NOVASCOPE_DEPS="$NOVASCOPE_DEPS" PYTHONDONTWRITEBYTECODE=1 ${NINJA_STATUS:+"NINJA_STATUS=$NINJA_STATUS"} \
    /bin/sh -c "cd \"\$1\" && shift && exec \"\$@\"" sh "$WHERE" "$@"
' sh "$@"
