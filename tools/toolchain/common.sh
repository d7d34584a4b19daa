# Shared by the toolchain scripts: messages, the cache folder, the machine's own package mirror, and
# installing Debian packages. To be sourced by a POSIX shell that has set -eu.

novascope_cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/novascope

say() {
  printf '%s\n' "$*" >&2
}

fail() {
  printf '%s\n' "error: $*" >&2
  exit 1
}

have() {
  command -v "$1" >/dev/null 2>&1
}

is_root() {
  [ "$(id -u)" = 0 ]
}

# The Debian mirror that this machine's apt uses; none is written down in the tree.
mirror() {
  have apt-get || fail "apt-get is missing: this step needs a Debian machine; elsewhere install" \
    "Emscripten 3.1.69 or newer (an activated emsdk) and run this again"
  site=$(apt-get indextargets --format "\$(SITE) \$(COMPONENT)" |
    awk '$2 == "main" && $1 !~ /security/ { print $1; exit }')
  [ -n "$site" ] || fail "apt names no mirror: add one to /etc/apt/sources.list"
  printf '%s\n' "$site"
}

# install_packages PACKAGE ...: installs Debian packages; without the privilege says which.
install_packages() {
  [ $# -gt 0 ] || return 0
  have apt-get || fail "please install these (Debian package names): $*"
  is_root || fail "these Debian packages are missing: $*. Install them with: sudo apt-get install -y $*"
  say "installing: $*"
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  if ! apt-get install -y --no-install-recommends "$@" </dev/null >"$log" 2>&1; then
    # A new machine has no package lists yet, or stale ones.
    apt-get update </dev/null >>"$log" 2>&1 || true
    apt-get install -y --no-install-recommends "$@" </dev/null >>"$log" 2>&1 || {
      tail -n 15 "$log" >&2
      fail "apt-get could not install: $*"
    }
  fi
  rm -f "$log"
}

# need_commands COMMAND:PACKAGE ...: installs the packages whose command is missing.
need_commands() {
  missing=
  for pair in "$@"; do
    have "${pair%%:*}" || missing="$missing ${pair#*:}"
  done
  # shellcheck disable=SC2086
  install_packages $missing
}

# private_apt_setup DIR SITE: prepares apt state of our own in DIR that knows Debian 13 and sid's sources.
private_apt_setup() {
  apt_dir=$1
  mkdir -p "$apt_dir/sources.d" "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial"
  {
    printf 'Types: deb deb-src\nURIs: %s\nSuites: trixie\nComponents: main\n\n' "$2"
    printf 'Types: deb-src\nURIs: %s\nSuites: sid\nComponents: main\n' "$2"
  } >"$apt_dir/sources.d/novascope.sources"
}

# private_apt TOOL ARGS...: apt-get or apt-cache on that state; the machine's own apt sees none of it.
private_apt() {
  apt_tool=$1
  shift
  "$apt_tool" -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$apt_dir/sources.d" \
    -o Dir::State::Lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" -o APT::Sandbox::User= \
    -o Dir::Etc::PreferencesParts=/dev/null -o Dir::Etc::Preferences=/dev/null "$@"
}
