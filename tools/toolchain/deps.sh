#!/bin/sh
# Fetches (once) the libraries that are compiled into Novascope or its tests, natively and for wasm
# alike, and prints the folder that holds them: include/ (headers), imgui/, catch2/ (sources), fonts/
# (subsets). They are Debian packages, verified by apt's signed index, unpacked into the user's cache;
# nothing is installed on the machine. Dear ImGui comes from sid, the rest from Debian 13.
set -eu

here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/common.sh"

packages="libsimde-dev nlohmann-json3-dev libcli11-dev libglm-dev fonts-inter fonts-jetbrains-mono"
sources="imgui/sid catch2/trixie"
hash=$(cat "$0" | sha256sum | cut -c1-12)
deps=$novascope_cache/deps-$hash

# What the page and its panels write: Latin, Greek mu, punctuation, arrows, maths and box shapes.
glyphs="U+0020-007E,U+00A0-00FF,U+0131,U+0152-0153,U+0394,U+03A3,U+03BC,U+2009-200B,U+2010-2015"
glyphs="$glyphs,U+2018-201E,U+2020-2022,U+2026,U+202F,U+2030,U+2032-2033,U+2039-203A,U+20AC,U+2122"
glyphs="$glyphs,U+2190-2195,U+21BB,U+2212,U+2215,U+221A,U+221E,U+2248,U+2260,U+2264-2265,U+2318"
glyphs="$glyphs,U+25A0,U+25B2,U+25B6,U+25BA,U+25BC,U+25C0,U+25CB,U+25CF,U+2713,U+2715"

# subset IN OUT: keeps the glyphs above and drops what Dear ImGui does not read.
subset() {
  pyftsubset "$1" "--output-file=$2" "--unicodes=$glyphs" --layout-features= --no-hinting \
    --desubroutinize --notdef-outline --name-IDs=0,1,2,13,14 --drop-tables+=GSUB,GPOS,GDEF,DSIG,STAT,MVAR
}

build() {
  need_commands pyftsubset:fonttools flock:util-linux tar:tar xz:xz-utils dpkg-deb:dpkg
  mkdir -p "$novascope_cache"
  exec 9>"$deps.lock"
  flock 9
  [ -d "$deps" ] && return 0
  say "fetching the libraries (about 60 MB with the package lists, once): $deps"
  site=$(mirror)
  tmp=$(mktemp -d "$deps.tmp.XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  private_apt_setup "$tmp/apt" "$site"
  {
    private_apt apt-get update
    mkdir -p "$tmp/debs" "$tmp/src" "$tmp/x" "$tmp/out/include" "$tmp/out/fonts"
    # shellcheck disable=SC2086
    (cd "$tmp/debs" && private_apt apt-get download $(printf '%s/trixie ' $packages))
    # shellcheck disable=SC2086
    (cd "$tmp/src" && private_apt apt-get source --download-only $sources)
  } </dev/null >"$tmp/log" 2>&1 || {
    tail -n 15 "$tmp/log" >&2
    fail "the libraries could not be fetched from this machine's Debian mirror"
  }
  for deb in "$tmp"/debs/*.deb; do
    dpkg-deb -x "$deb" "$tmp/x"
  done
  for part in simde nlohmann CLI glm; do
    mv "$tmp/x/usr/include/$part" "$tmp/out/include/$part"
  done
  for part in imgui catch2; do
    mkdir "$tmp/out/$part"
    tar -C "$tmp/out/$part" --strip-components=1 -xf "$tmp"/src/${part}_*.orig.tar.*
  done
  for pair in Inter-Regular:inter-regular Inter-SemiBold:inter-semibold \
    JetBrainsMono-Regular:jetbrains-mono; do
    font=$(find "$tmp/x/usr/share/fonts" -name "${pair%%:*}.[to]tf" | sort | head -n 1)
    [ -n "$font" ] || fail "the font packages no longer hold ${pair%%:*}"
    subset "$font" "$tmp/out/fonts/${pair#*:}.${font##*.}"
  done
  mkdir "$tmp/out/licenses"
  for package in $packages; do
    cp "$tmp/x/usr/share/doc/$package/copyright" "$tmp/out/licenses/$package"
  done
  mv "$tmp/out" "$deps"
}

[ -d "$deps" ] || build
printf '%s\n' "$deps"
