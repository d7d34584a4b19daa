#!/bin/sh
# Makes (once) the private Debian 13 root that brings Emscripten to machines whose own is too old, and
# prints its directory. It lives in the user's cache, is built under a lock to a temporary name and
# renamed, so that a broken build is never used, and is shared by all clones. em.sh enters it.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/common.sh"

suite=trixie
packages="emscripten cmake ninja-build"
hash=$(printf '%s\n' "$suite $packages" | sha256sum | cut -c1-12)
root=$novascope_cache/root-$hash

build() {
  is_root || fail "making the private Debian 13 root needs root: run this once with sudo, or install" \
    "Emscripten 3.1.69 or newer (an activated emsdk) yourself"
  need_commands debootstrap:debootstrap unshare:util-linux flock:util-linux
  mkdir -p "$novascope_cache"
  exec 9>"$root.lock"
  flock -n 9 || {
    say "waiting for another build of the private Debian 13 root to finish"
    flock 9
  }
  [ -d "$root" ] && return 0
  site=$(mirror)
  tmp=$(mktemp -d "$root.tmp.XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  say "making the private Debian 13 root with Emscripten (2.9 GB, 2 to 5 minutes, once): $root"
  include=$(printf '%s' "$packages" | tr ' ' ',')
  # Every hundredth line shows that it is alive; the log stays for the failure message.
  if ! { unshare -m debootstrap --variant=minbase "--include=$include" "$suite" "$tmp/root" "$site" \
    </dev/null 2>&1 || echo "debootstrap-failed"; } | tee "$tmp/log" |
    awk 'NR % 100 == 0 { print "  " $0 > "/dev/stderr" } END { exit $0 == "debootstrap-failed" }'; then
    tail -n 8 "$tmp/log" >&2
    fail "debootstrap could not make the private Debian 13 root"
  fi
  rm -rf "$tmp/root/var/cache/apt/archives" "$tmp/root/var/lib/apt/lists"
  mv "$tmp/root" "$root"
}

[ -d "$root" ] || build
printf '%s\n' "$root"
