#!/usr/bin/env bash
# Makes the packages, from a bare Debian 12 in one command.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: deploy/package.sh [--output=DIR] [--only=windows|linux] [--no-build] [--linux=DIR] [--windows=DIR]

  --output=DIR    where the packages go (default dist); a folder of an earlier run is replaced as a whole
  --only=...      the packages of one platform
  --no-build      pack what the build folders hold, as it is
  --linux=DIR     build folder of the preset release (default build/release)
  --windows=DIR   build folder of the preset windows (default build/windows)

Installs Debian packages where some are missing (root), builds flanneld and flannelctl for Linux and Windows, and makes

  weft-VERSION-windows-amd64.zip      programs, licences, manuals, deploy files
  weft-VERSION-linux-amd64.tar.gz     the same, in the folders of a Linux system
  weft-VERSION-PLATFORM-oci.tar       container images as OCI layouts; the same unpacked in a folder of that name
  weft-VERSION.tgz                    the Helm chart
  weft-VERSION.spdx.json              bill of materials, SPDX 2.3
  SHA256SUMS

The bytes depend on the commit alone, given the same Debian packages and the same cache folder (WEFT_DEPS): the time of every entry is that
of the commit, or SOURCE_DATE_EPOCH. Half an hour on two cores with an empty cache, less than a minute with --no-build.
TEXT
}

root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
output=$root/dist build=yes only= linux=$root/build/release windows=$root/build/windows
given() { realpath -ms "${1#*=}"; }
for argument; do
  case $argument in
    --output=?*) output=$(given "$argument") ;;
    --only=windows | --only=linux) only=${argument#*=} ;;
    --no-build) build= ;;
    --linux=?*) linux=$(given "$argument") ;;
    --windows=?*) windows=$(given "$argument") ;;
    -h | --help) usage; exit 0 ;;
    *) echo "deploy/package.sh: no option '$argument'; see --help" >&2; exit 2 ;;
  esac
done

cd "$root"
if [ -n "$build" ]; then
  cmake/bootstrap.sh build windows package
  make() {
    echo "[$(printf '%4d' $SECONDS)s] building for $1"
    cmake --preset "$1" -B "$2" >"$2.log" 2>&1 && cmake --build "$2" --target flanneld flannelctl >>"$2.log" 2>&1 && return
    tail -n 25 "$2.log" >&2
    echo "deploy/package.sh: no programs for $1; see $2.log" >&2
    exit 1
  }
  mkdir -p "$(dirname "$linux")" "$(dirname "$windows")"
  [ "$only" = windows ] || make release "$linux"
  [ "$only" = linux ] || make windows "$windows"
fi
builds=()
[ "$only" = linux ] || builds+=("--windows=$windows")
[ "$only" = windows ] || builds+=("--linux=$linux")
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=deploy exec python3 -m packing --output="$output" "${builds[@]}"
