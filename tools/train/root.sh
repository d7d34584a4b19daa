#!/bin/sh
# Makes (once) and enters the private Debian root that only training needs: Python 3 and PyTorch
# with the pthread build of OpenBLAS. It lives in the user's cache, is built under a lock to a
# temporary name and renamed, so that a broken build is never used, and is shared by all clones.
#
#   root.sh path            print the root's directory, building it first if it is missing
#   root.sh run CMD ...     run CMD inside the root; the source tree is mounted at /src, and each
#                           directory named in TRAIN_BIND ("HOST:INSIDE", space separated) as given
#
# Every use has its own mount namespace, so no bind mount outlives a command. /proc is mounted
# because PyTorch and OpenBLAS read the processor count there and use one thread without it.
set -eu

suite=trixie
packages="python3 python3-torch libopenblas0-pthread"
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
source_tree=$(CDPATH= cd -- "$here/../.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/novascope
hash=$(printf '%s\n' "$suite $packages" | sha256sum | cut -c1-12)
root=$cache/root-train-$hash

fail() {
  printf '%s\n' "root.sh: $*" >&2
  exit 1
}

need() {
  command -v "$1" >/dev/null 2>&1 || fail "'$1' is missing: install the Debian package '$2'"
}


build() {
  [ "$(id -u)" = 0 ] || fail "making the training root needs root: run this command with sudo"
  need debootstrap debootstrap
  need unshare util-linux
  need flock util-linux
  mkdir -p "$cache"
  exec 9>"$root.lock"
  flock 9
  if [ -d "$root" ]; then
    exec 9>&-
    return 0
  fi
  # The mirror is the one this machine's own apt uses, so none is written down.
  mirror=$(apt-get indextargets --format "\$(SITE) \$(COMPONENT)" |
    awk '$2 == "main" && $1 !~ /security/ { print $1; exit }')
  [ -n "$mirror" ] || fail "apt names no mirror: add one to its sources and run apt-get update"
  tmp=$(mktemp -d "$root.tmp.XXXXXX")
  printf '%s\n' "making the training root (about 3 minutes, once): $root" >&2
  include=$(printf '%s' "$packages" | tr ' ' ',')
  unshare -m debootstrap --variant=minbase "--include=$include" "$suite" "$tmp/root" "$mirror" \
    >"$tmp/log" 2>&1 || {
    tail -n 5 "$tmp/log" >&2
    fail "debootstrap failed; its log is $tmp/log"
  }
  rm -rf "$tmp/root/var/cache/apt/archives" "$tmp/root/var/lib/apt/lists"
  mkdir -p "$tmp/root/src" "$tmp/root/out"
  mv "$tmp/root" "$root"
  rm -rf "$tmp"
  exec 9>&-
}

[ -d "$root" ] || build

case ${1:-} in
path)
  printf '%s\n' "$root"
  ;;
run)
  shift
  [ $# -gt 0 ] || fail "'run' needs a command"
  [ "$(id -u)" = 0 ] || fail "entering the training root needs root: run this command with sudo"
  need unshare util-linux
  ROOT=$root SOURCE_TREE=$source_tree TRAIN_BIND=${TRAIN_BIND:-} exec unshare -m sh -c '
    set -eu
    mount --make-rprivate /
    mount -t proc proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    mount --bind "$SOURCE_TREE" "$ROOT/src"
    for pair in $TRAIN_BIND; do
      mkdir -p "$ROOT${pair#*:}"
      mount --bind "${pair%%:*}" "$ROOT${pair#*:}"
    done
    cd /
    exec chroot "$ROOT" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root \
      LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 ${TRAIN_ENV:-} "$@"
  ' sh "$@"
  ;;
*)
  fail "unknown command '${1:-}': use 'path' or 'run CMD ...'"
  ;;
esac
