#!/usr/bin/env bash
# Brings a bare Debian 12 or 13 (root, bash, apt) to where weft can be built and tested: Debian packages by
# apt, and what Debian does not have in the form we need built once from Debian's source packages.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: cmake/bootstrap.sh [STEP... | --newest SOURCE...]        default: build test

  --newest  no step: the newest version of each source package that the machine's Debian entries have, security updates included

  build     compiler, CMake, libraries; abseil and simdjson for Linux
  test      GoogleTest, python3, git; on Debian 12 clang-format 14
  demo      what deploy/demo.sh uses: iproute2, nftables, iperf3, ...
  netns     what tests/netns and bench/run use in addition: tshark, promtool, ...
  windows   mingw-w64, the libraries for Windows, Wine and its prefix
  tsan      abseil instrumented for the thread sanitizer
  fuzz      clang 14 with libFuzzer; Debian 12 only
  bench     Google Benchmark, valgrind, Open vSwitch (unpacked into the cache, not installed: no service starts)
  tidy      clang-tidy 14; Debian 12 only
  bare      debootstrap, for tests/soak/bare.sh
  peers     Go, and what tests/e2e builds with it: etcd, kube-apiserver, kubectl, upstream flanneld, kube-proxy.exe, helm, ...
  former    flanneld and flannelctl of an earlier commit, with which tests/e2e begins upgrades: four minutes; Debian 12 only, and with this
            repository's history
  package   what deploy/package.sh adds to build and windows: the licences of the libraries built from source
  image     what checks the packages: skopeo, umoci, libhivex, an SPDX validator, a PE reader
  all       all of these; Debian 12 only

The cache is WEFT_DEPS, by default ${XDG_CACHE_HOME:-~/.cache}/weft. A step that is done costs nothing.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${WEFT_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}
log=$cache/logs/bootstrap.log
jobs=$(nproc)
began=$SECONDS
apt_is_new=

say() { printf '[%4ds] %s\n' $((SECONDS - began)) "$*"; }

# run WHAT COMMAND...: one line on the screen, the rest in the log, whose tail is shown on failure.
run() {
  local what=$1
  shift
  say "$what"
  # In the background, since `set -e` does not hold inside a tested command; without the lock's
  # descriptor, which a lingering wineserver would keep.
  { echo "== $what"; "$@"; } >>"$log" 2>&1 </dev/null 9>&- &
  wait $! && return
  echo "bootstrap: failed: $what. The end of $log:" >&2
  tail -n 25 "$log" >&2
  exit 1
}

# ---- What differs between Debian's releases

codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-$ID}")
case $codename in
  bookworm)
    release=12 gcc=g++-12 boost=libboost1.81-dev libraries=(libre2-dev) pcap=libpcap0.8 format=(clang-format-14) promtool=prometheus
    # Debian 12 has no static simdjson, and the shipped program links none of C++ dynamically.
    built=(abseil) static=(simdjson) ;;
  trixie)
    release=13 gcc=g++-14 boost=libboost1.83-dev libraries=(zlib1g-dev libzstd-dev) pcap=libpcap0.8t64 format=() promtool=promtool
    # Since 2023 re2 has abseil's types in its interface: Debian's is for Debian's abseil.
    built=(abseil re2) static=() ;;
  *) release= ;;
esac

debian12_only() {
  [ "$release" = 12 ] || { echo "bootstrap: $1 uses clang 14, which only Debian 12 has; run it on Debian 12" >&2; exit 1; }
}

# ---- Debian packages

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q -y "$@"; }

missing_packages() {
  local package
  for package; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || { echo "bootstrap: not root, and missing: ${missing[*]}; install them, run again" >&2; exit 1; }
  [ -n "$apt_is_new" ] || run "apt-get update" apt_get update
  apt_is_new=yes
  # apt takes libboost1.74-dev away where it stands in the way of 1.81.
  run "apt-get install ${missing[*]}" apt_get install --no-install-recommends "${missing[@]}"
}

# ---- Debian source packages, with apt lists of our own: the machine's configuration stays as it is

# Prints the machine's Debian entries (suites of this release) as deb-src entries.
source_entries() {
  local file
  for file in /etc/apt/sources.list.d/*.sources; do
    [ -e "$file" ] || continue
    awk -v RS= -v release="$codename" '
      /(^|\n)Enabled:[ ]*no/ { next }
      $0 ~ "(^|\n)Suites:[ ]*" release && /(^|\n)Types:[^\n]*deb/ {
        gsub(/(^|\n)Types:[^\n]*/, "\nTypes: deb-src"); sub(/^\n/, ""); print $0 "\n"
      }' "$file" >>"$1/debian.sources"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -e "$file" ] || continue
    awk -v release="$codename" '
      $1 == "deb" { line = $0; sub(/\[[^]]*\]/, "", line); split(line, part)
                    if (index(part[3], release) == 1) { sub(/^deb/, "deb-src"); print } }' "$file" >>"$1/debian.list"
  done
}

apt_source_tool() {
  local tool=$1 dir=$cache/apt
  shift
  "$tool" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/sources" -o Dir::State::Lists="$dir/lists" \
    -o Dir::Cache::srcpkgcache="" -o Dir::Cache::pkgcache="" -o APT::Sandbox::User=root -q "$@"
}

# Once a day, so that a new point release of Debian is seen; without the network the last ones serve.
update_source_lists() {
  [ -z "$(find "$cache/apt/lists/partial" -maxdepth 0 -mmin -1440 2>/dev/null)" ] || return 0
  local old=
  [ ! -d "$cache/apt" ] || { old=$cache/apt.old; rm -rf "$old"; mv "$cache/apt" "$old"; }
  mkdir -p "$cache/apt/sources" "$cache/apt/lists/partial"
  source_entries "$cache/apt/sources"
  if [ -z "$old" ]; then
    run "apt-get update (sources)" apt_source_tool apt-get update
    return
  fi
  say "apt-get update (sources)"
  if apt_source_tool apt-get update >>"$log" 2>&1 </dev/null; then
    rm -rf "$old"
  else
    say "it failed; yesterday's lists serve"
    rm -rf "$cache/apt"
    mv "$old" "$cache/apt"
  fi
}

# The newest version of source package $1.
source_version() {
  apt_source_tool apt-cache showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -V | tail -n 1
}

newest_sources() {
  rm -rf "$cache/apt"  # today's security updates count
  update_source_lists >&2
  if ! compgen -G "$cache/apt/lists/*-security_*Sources*" >/dev/null; then
    echo "bootstrap: apt's entries have no security updates of this release; add them" >&2
    exit 1
  fi
  local name
  for name; do echo "$name $(source_version "$name")"; done
}

# Unpacks source package $1 into ./$1. The newest version can be missing on a mirror: then an older one.
unpack_source() {
  local version
  for version in $(apt_source_tool apt-cache showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -rVu); do
    rm -rf "$1"-*/
    if apt_source_tool apt-get source "$1=$version"; then
      mv "$1"-*/ "$1"
      return
    fi
  done
  echo "no version of source package $1 can be downloaded" >&2
  return 1
}

# ---- Recipes. recipe_NAME FLAVOUR PREFIX runs in an empty folder; its text is part of the cache key.

cmake_install() {
  local flavour=$1 prefix=$2 source=$3 options=(-DCMAKE_BUILD_TYPE=Release)
  shift 3
  case $flavour in
    linux-tsan) options+=("-DCMAKE_CXX_FLAGS=-fsanitize=thread -Wno-tsan") ;;
    windows) options+=("-DCMAKE_TOOLCHAIN_FILE=$here/mingw-w64-x86_64.cmake" "-DWEFT_WINDOWS_SYSROOT=$prefix") ;;
  esac
  cmake -G Ninja -S "$source" -B build "${options[@]}" -DCMAKE_CXX_STANDARD=20 -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$prefix" "$@"
  nice ninja -C build -j "$jobs" install
}

# Debian builds abseil with string_view, optional, ... of its own. We want the standard's, and another
# inline namespace, so that the two can never be mixed.
recipe_abseil() {
  unpack_source abseil
  sed -i -E -e 's/^(#define ABSL_OPTION_USE_STD_(ANY|OPTIONAL|STRING_VIEW|VARIANT)) 0/\1 1/' \
    -e 's/^(#define ABSL_OPTION_INLINE_NAMESPACE_NAME) .*/\1 weft20220623/' abseil/absl/base/options.h
  sed -i -E '/^add_subdirectory\((flags|random)\)/d' abseil/absl/CMakeLists.txt  # a third of it, and no user of ours
  cmake_install "$1" "$2" abseil -DABSL_PROPAGATE_CXX_STD=ON
}

recipe_googletest() { cmake_install "$1" "$2" /usr/src/googletest; }

recipe_yaml_cpp() {
  unpack_source yaml-cpp
  cmake_install "$1" "$2" yaml-cpp -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF -DYAML_BUILD_SHARED_LIBS=OFF
}

recipe_re2() {
  unpack_source re2
  # Debian 12's source has no generated tables, but the data and the generators.
  [ -e re2/re2/perl_groups.cc ] ||
    (cd re2/re2 && perl make_perl_groups.pl >perl_groups.cc && python3 make_unicode_groups.py >unicode_groups.cc &&
      python3 make_unicode_casefold.py >unicode_casefold.cc)
  cmake_install "$1" "$2" re2 -DRE2_BUILD_TESTING=OFF -Dabsl_DIR="$abseil/lib/cmake/absl"
}

recipe_simdjson() {
  unpack_source simdjson
  cmake_install "$1" "$2" simdjson -DSIMDJSON_DEVELOPER_MODE=OFF
}

# Without what nobody may bring in at run time: engines, modules, a configuration file. What is left of OPENSSLDIR
# is a place that only administrators can write to. And without what no API server and no Go program speaks.
recipe_openssl() {
  unpack_source openssl
  cd openssl
  ./Configure mingw64 --cross-compile-prefix=x86_64-w64-mingw32- --prefix="$2" --libdir=lib \
    --openssldir='C:/Program Files/Common Files/SSL' no-shared no-tests no-engine no-module no-legacy no-zlib no-comp \
    no-capieng no-afalgeng no-dso no-autoload-config -D_WIN32_WINNT=0x0A00 -Os \
    no-{aria,bf,blake2,camellia,cast,cmp,cms,ct,dsa,dtls,ec2m,gost,idea,md4,mdc2,ocb,ocsp,rc2,rc4,rfc3779,rmd160} \
    no-{scrypt,seed,siphash,siv,sm2,sm3,sm4,srp,srtp,ssl3,ts,whirlpool}
  nice make -j "$jobs" build_libs
  make install_dev
}

# Only what is header-only, by name: with /usr/include itself, mingw would read glibc's headers.
recipe_headers() {
  mkdir -p "$2/include"
  local dir
  for dir in boost nlohmann fmt spdlog CLI protozero; do ln -s "/usr/include/$dir" "$2/include/$dir"; done
}

recipe_readers() { python3 -m pip install -q --no-cache-dir --target "$2" spdx-tools==0.8.3 pefile==2024.8.26; }

# The last commit whose state files have no version. A compiler of today, and today's libraries: what counts is what it writes and reads.
recipe_former() {
  local commit=0ac4ae1e3da000d2ac784b3df08f176dd1e8586b
  git -C "$here/.." cat-file -e "$commit^{commit}" || { echo "this clone lacks commit $commit; fetch its whole history"; return 1; }
  git -C "$here/.." archive "$commit" | tar -xf -
  WEFT_DEPS=$cache cmake --preset release
  nice ninja -C build/release -j "$jobs" flanneld flannelctl
  mkdir "$2"
  cp build/release/bin/flanneld build/release/bin/flannelctl "$2"
}

# The licence texts and the versions of the libraries that are built from source packages.
recipe_abseil_notice() { unpack_source abseil && keep_notice abseil "$2"; }
recipe_simdjson_notice() { unpack_source simdjson && keep_notice simdjson "$2"; }
recipe_yaml_cpp_notice() { unpack_source yaml-cpp && keep_notice yaml-cpp "$2"; }
recipe_re2_notice() { unpack_source re2 && keep_notice re2 "$2"; }
recipe_openssl_notice() { unpack_source openssl && keep_notice openssl "$2"; }

keep_notice() {
  mkdir -p "$2/$1"
  cp "$1/debian/copyright" "$2/$1/copyright"
  (cd "$1" && dpkg-parsechangelog -S Version) >"$2/$1/version"
}

recipe_wine() {
  # A Wine prefix, as Windows 10. The complaint about syswow64 in the log is harmless (no 32-bit Wine).
  export WINEPREFIX=$2 WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
  /usr/lib/wine/wine64 wineboot -i
  /usr/lib/wine/wine64 winecfg /v win10
  /usr/lib/wine/wineserver -w
}

# ---- The store: NAME-FLAVOUR-KEY folders, complete or absent; a flavour is a folder of links to them

installed_versions() { dpkg-query -W -f '${Package} ${Version}\n' "$@"; }

# build NAME FLAVOUR PACKAGE...: fills the store unless it holds this very recipe, made of Debian's newest
# source with these package versions. Sets `stored`, and `abseil` for what is built with it.
build() {
  local name=$1 flavour=$2 key work source=
  shift 2
  if [[ $(declare -f "recipe_$name") =~ unpack_source\ ([a-z0-9-]+) ]]; then
    update_source_lists
    source=$(source_version "${BASH_REMATCH[1]}")
  fi
  [[ $(declare -f "recipe_$name") != *'$abseil'* ]] || source+=" $abseil"
  key=$({ declare -f "recipe_$name" cmake_install; echo "$source"; installed_versions "$@"; } | sha256sum | cut -c1-12)
  stored=$cache/store/$name-$flavour-$key
  [ "$name" != abseil ] || abseil=$stored
  [ ! -d "$stored" ] || return 0
  work=$cache/work/$name-$flavour
  rm -rf "$work"
  mkdir -p "$work/source" "$cache/store"
  run "build $name ($flavour)" in_folder "$work/source" "recipe_$name" "$flavour" "$work/prefix"
  mv "$work/prefix" "$stored"
  rm -rf "$work"
}

in_folder() {
  cd "$1"
  shift
  "$@"
}

# assemble FLAVOUR STORED...: makes $cache/FLAVOUR one prefix of hard links, in one step.
assemble() {
  local flavour=$1 dir key
  shift
  key=$(echo "$*" | sha256sum | cut -c1-12)
  dir=$cache/store/prefix-$flavour-$key
  if [ ! -d "$dir" ]; then
    rm -rf "$dir.new"
    mkdir "$dir.new"
    local part
    for part; do cp -al "$part/." "$dir.new/"; done
    mv "$dir.new" "$dir"
  fi
  link "$dir" "$cache/$flavour"
}

link() {
  [ "$(readlink "$2")" != "$1" ] || return 0
  ln -sfn "$1" "$2.new"
  mv -T "$2.new" "$2"
}

# ---- Steps

step_build() {
  packages g++ cmake ninja-build ccache dpkg-dev ca-certificates "$boost" nlohmann-json3-dev libfmt-dev \
    libspdlog-dev libcli11-dev libsimdjson-dev libyaml-cpp-dev libmnl-dev libprotozero-dev libssl-dev "${libraries[@]}"
  build_prefix linux "${built[@]}" "${static[@]}"
}

# build_prefix FLAVOUR NAME...
build_prefix() {
  local name parts=()
  for name in "${@:2}"; do
    build "$name" "$1" "$gcc"
    parts+=("$stored")
  done
  assemble "$1" "${parts[@]}"
}

step_test() { packages libgtest-dev libgmock-dev "$pcap" python3 git systemd "${format[@]}"; }

step_demo() { packages iproute2 iputils-ping nftables iptables tcpdump iperf3 procps; }

step_netns() {
  step_demo
  packages ethtool tshark python3
  [ -x "$cache/promtool" ] || run "fetch promtool" fetch_promtool
}

# Out of its package: that of Debian 12, prometheus, would start a service if it were installed.
fetch_promtool() {
  local work=$cache/promtool.new
  rm -rf "$work"
  mkdir -p "$work"
  cd "$work"
  apt-get download $promtool || { apt_get update && apt-get download $promtool; }
  dpkg-deb -x ${promtool}_*.deb tree
  mv tree/usr/bin/promtool "$cache/promtool"
  rm -rf "$work"
}

step_windows() {
  step_build
  packages g++-mingw-w64-x86-64-posix wine64 googletest perl make python3 python3-six unicode-data
  local name parts=()
  for name in abseil googletest yaml_cpp re2 simdjson; do
    build "$name" windows g++-mingw-w64-x86-64-posix
    parts+=("$stored")
  done
  build openssl windows g++-mingw-w64-x86-64-posix libssl-dev
  parts+=("$stored")
  build headers windows "$boost"
  assemble windows "${parts[@]}" "$stored"
  build wine x86_64 wine64
  link "$stored" "$cache/wineprefix"
}

step_package() {
  packages python3 git dpkg-dev
  local name parts=()
  for name in abseil simdjson yaml_cpp re2 openssl; do
    build "${name}_notice" source dpkg-dev
    parts+=("$stored")
  done
  assemble notices "${parts[@]}"
}

step_image() {
  packages skopeo umoci libhivex-bin python3-pip
  build readers python python3
  link "$stored" "$cache/python-readers"
}

step_tsan() {
  step_build
  build_prefix linux-tsan "${built[@]}"
}

step_fuzz() {
  debian12_only fuzz
  packages clang-14 libclang-rt-14-dev
}

step_bench() {
  packages libbenchmark-dev valgrind git python3 libbpf1 libcap-ng0 libnuma1 libunbound8 libxdp1
  [ -d "$cache/openvswitch" ] || run "fetch openvswitch" fetch_openvswitch
}

# Out of the packages, which would start a service if they were installed.
fetch_openvswitch() {
  local work=$cache/openvswitch.new package
  rm -rf "$work"
  mkdir -p "$work/tree"
  cd "$work"
  apt-get download openvswitch-common openvswitch-switch ||
    { apt-get update && apt-get download openvswitch-common openvswitch-switch; }
  for package in openvswitch-*.deb; do dpkg-deb -x "$package" tree; done
  mv tree "$cache/openvswitch"
  rm -rf "$work"
}

step_tidy() {
  debian12_only tidy
  packages clang-tidy-14
}

step_bare() { packages debootstrap git; }

# The recipes stand in tests/e2e/peers.sh; Debian's Go only fetches the newer one that they need.
step_peers() {
  local peers=$here/../tests/e2e/peers.sh name
  packages iptables openssl ca-certificates libfaketime gcc libc6-dev dpkg-dev python3-yaml
  "$peers" --go >/dev/null || packages golang-go
  for name in $("$peers" --missing); do run "build $name" "$peers" "$name"; done
}

step_former() {
  [ "$release" = 12 ] || { echo "bootstrap: former: that commit builds on Debian 12 only; run it there" >&2; exit 1; }
  step_build
  packages git
  build former linux "$gcc"
  link "$stored" "$cache/former-weft"
}

step_all() {
  local step
  for step in build test netns windows tsan fuzz bench tidy peers former package image; do "step_$step"; done
}

main() {
  local step
  [ $# -gt 0 ] || set -- build test
  for step; do
    case $step in
      -h | --help) usage; exit 0 ;;
      --newest) break ;;
    esac
    declare -f "step_$step" >/dev/null || { echo "bootstrap: no step '$step'; see --help" >&2; exit 2; }
  done
  [ -n "$release" ] || { echo "bootstrap: this is $codename; Debian 12 (bookworm) or 13 (trixie) is needed" >&2; exit 1; }
  mkdir -p "$cache/logs"
  exec 9>"$cache/lock"
  if ! flock -n 9; then
    say "waiting for another bootstrap ($cache/lock)"
    flock 9
  fi
  : >"$log"
  if [ "$1" = --newest ]; then
    newest_sources "${@:2}"
    return
  fi
  for step; do "step_$step"; done
  say "ready: $*"
}

main "$@"; exit
