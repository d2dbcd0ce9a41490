#!/usr/bin/env bash
# Runs a Windows program under Wine: `tests/wine/run.sh program.exe argument...`. CMake calls it for
# every Windows test. WINEPREFIX chooses another prefix than the one that cmake/bootstrap.sh made.
set -eu
export WINEPREFIX=${WINEPREFIX:-${WEFT_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}/wineprefix}
export WINEDEBUG=${WINEDEBUG:--all}
export WINEDLLOVERRIDES=${WINEDLLOVERRIDES:-"mscoree=;mshtml=;winemenubuilder.exe="}
if [ ! -d "$WINEPREFIX/drive_c" ]; then
  echo "$WINEPREFIX: no Wine prefix there; run: cmake/bootstrap.sh windows" >&2
  exit 1
fi

# The first Wine process of a prefix starts the server and the services, which inherit its standard
# output: a pipe (ctest's) would stay open and ctest wait for it. Hence a server that stays for a
# while, which also makes 0.05 s of 3 s a program, and a first process just to wake the services.
# wineserver fails where one runs already.
(
  flock 8
  if /usr/lib/wine/wineserver -p60 8>&-; then /usr/lib/wine/wine64 cmd /c exit 8>&-; fi
) 8>"$WINEPREFIX/.weft-start" </dev/null >"$WINEPREFIX/.weft-wake" 2>&1 || {
  echo "tests/wine/run.sh: Wine's services did not start, status $?: $(cat "$WINEPREFIX/.weft-wake")" >&2
  exit 1
}

exec /usr/lib/wine/wine64 "$@"
