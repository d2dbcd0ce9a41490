#!/usr/bin/env bash
# A real cluster on one machine: weft's flanneld among upstream's, all behind a real API server.
#   tests/e2e/run.sh [--list] [--subject=weft|upstream] [--exactly NAME] [NAME...]      WEFT_BUILD: the build folder, default build/dev
# Builds what it starts. Logs: build/logs/e2e.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [[ " $* " != *" --list "* ]]; then
  [ "$(id -u)" = 0 ] || { echo "tests/e2e: needs root (network namespaces)" >&2; exit 1; }
  cd "$here/../.."
  case " $* " in
    *" --subject=upstream "* | *" upgrade.later"*) former= ;;
    *" --tier=nightly "* | *" upgrade"*) former=former ;;  # what the nightly tests of upgrade_test.py start
    *) former= ;;
  esac
  # shellcheck disable=SC2086  # none or one
  cmake/bootstrap.sh build netns peers windows package $former
  # make PRESET FOLDER TARGET...: what the tests start, of the tree as it is now.
  make() {
    [ -f "$2/build.ninja" ] || cmake --preset "$1" -B "$2" >/dev/null
    cmake --build "$2" --target "${@:3}" | tail -n 1
  }
  build=${WEFT_BUILD:-build/dev}
  make "$(basename "$build")" "$build" flanneld flannelctl traffic
  # For the programs under Wine, and those of them that see the emulator's host.
  cmake --preset windows -DWEFT_EMULATED_HOST=ON >/dev/null
  make windows build/windows hns_dlls flanneld flannelctl flanneld_emulated_host flannelctl_emulated_host
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/suite.py" "$@"
