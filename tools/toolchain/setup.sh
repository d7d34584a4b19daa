# Finds or installs what building and testing need. To be sourced after common.sh, from the source tree.
# Sets NOVASCOPE_DEPS, and after setup_web also NODE.

oldest_node=20

setup_native() {
  need_commands cmake:cmake ninja:ninja-build c++:g++ tar:tar
  cmake_version=$(cmake --version | sed -n '1s/.* //p')
  [ "$(printf '%s\n' 3.25 "$cmake_version" | sort -V | head -n 1)" = 3.25 ] ||
    fail "CMake $cmake_version is too old: install CMake 3.25 or newer"
  NOVASCOPE_DEPS=$(tools/toolchain/deps.sh)
  export NOVASCOPE_DEPS
}

node_major() {
  "$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0
}

# Node.js: the machine's where it is new enough, else a copy from npm in the cache.
setup_node() {
  need_commands node:nodejs npm:npm
  NODE=$(command -v node)
  if [ "$(node_major "$NODE")" -lt "$oldest_node" ]; then
    NODE=$novascope_cache/node/node_modules/.bin/node
    if [ "$(node_major "$NODE")" -lt "$oldest_node" ]; then
      say "this machine's Node.js is older than $oldest_node: fetching one from npm into $novascope_cache/node"
      npm install --prefix "$novascope_cache/node" --no-audit --no-fund --silent node@22 </dev/null >&2 ||
        fail "Node.js $oldest_node or newer is needed and npm could not fetch it"
    fi
    PATH=$(dirname "$NODE"):$PATH
  fi
  export NODE PATH
}

# The sanitizers' compiler, with libFuzzer: clang. Sets SANITIZER.
setup_sanitizer() {
  have clang++ || have clang++-14 || install_packages clang
  SANITIZER=$(command -v clang++-14 || command -v clang++)
  probe=$(mktemp -d)
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' >"$probe/a.cc"
  if ! "$SANITIZER" -fsanitize=fuzzer,address,undefined "$probe/a.cc" -o "$probe/a" 2>/dev/null; then
    install_packages "libclang-rt-$("$SANITIZER" -dumpversion | sed 's/\..*//')-dev"
  fi
  rm -rf "$probe"
}

# setup_packages PACKAGE [NPM_OPTION]: web/'s npm packages, where PACKAGE is missing or the lock is newer.
setup_packages() {
  stamp=web/node_modules/.package-lock.json
  if [ ! -d "web/node_modules/$1" ] || [ web/package-lock.json -nt "$stamp" ]; then
    say "fetching the npm packages of web/ (once)"
    (cd web && npm ci --no-audit --no-fund ${2:-} </dev/null >/dev/null) ||
      fail "npm could not fetch the packages of web/package-lock.json"
    touch "$stamp"
  fi
}

# build_preset PRESET TARGET ...: configures and builds with progress; quiet where nothing changed.
build_preset() {
  preset=$1
  shift
  wrapper=
  [ "$preset" != web ] || wrapper=tools/toolchain/em.sh
  say "building the preset '$preset'"
  # shellcheck disable=SC2086
  NINJA_STATUS="  [%f/%t] " $wrapper sh -c '
    preset=$1
    shift
    log=$(mktemp)
    cmake --preset "$preset" ${NOVASCOPE_CMAKE_ARGS:-} >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
    grep -A 6 "^CMake Warning" "$log" >&2
    rm -f "$log"
    exec cmake --build --preset "$preset" --target "$@"
  ' sh "$preset" "$@" || fail "the preset '$preset' does not build (see above)"
}
