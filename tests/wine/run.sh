#!/usr/bin/env bash
# Runs a Windows program under Wine: `tests/wine/run.sh program.exe argument...`. CMake calls it for
# every Windows test. WINEPREFIX chooses another prefix than the one that cmake/bootstrap.sh made, WEFT_WINE another
# folder with Wine's programs.
set -eu
start_up=(python3 -SE "$(dirname "$0")/start_up.py")
wine=${WEFT_WINE:-/usr/lib/wine}
export WINEPREFIX=${WINEPREFIX:-${WEFT_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}/wineprefix}
export WINEDEBUG=${WINEDEBUG:--all}
# Without a debugger, which would end a crashed program with its own status: often zero.
export WINEDLLOVERRIDES=${WINEDLLOVERRIDES:-"mscoree=;mshtml=;winemenubuilder.exe=;winedbg.exe="}
if [ ! -d "$WINEPREFIX/drive_c" ]; then
  echo "$WINEPREFIX: no Wine prefix there; run: cmake/bootstrap.sh windows" >&2
  exit 1
fi

# A server that stays for a while, and one first process to start its services, which then cost later
# ones nothing: 0.05 s a program instead of 3.
(
  flock 8
  if "$wine/wineserver" -p60 8>&-; then "${start_up[@]}" "$wine/wine64" cmd /c exit 8>&-; fi
) 8>"$WINEPREFIX/.weft-start" </dev/null >"$WINEPREFIX/.weft-wake" 2>&1 || {
  echo "tests/wine/run.sh: Wine's services did not start, status $?: $(cat "$WINEPREFIX/.weft-wake")" >&2
  exit 1
}

# Its output comes at its end, through files: the Wine process that starts the services passes them its output, and a reader
# of a pipe (ctest) would wait for their end.
exec "${start_up[@]}" "$wine/wine64" "$@"
