#!/usr/bin/env bash
# Makes PREFIX a Wine prefix in whose system32 HNS's DLLs are our stand-ins, so that Windows programs see the emulator
# at WEFT_HNS_EMULATOR:   tests/wine/hns.sh PREFIX [DLLS]      DLLS: default build/windows/hns-emulator
#   export WINEPREFIX=PREFIX WEFT_HNS_EMULATOR='\\.\pipe\hns'
#   tests/wine/run.sh flannelctl.exe hns emulate --listen "$WEFT_HNS_EMULATOR" &
#   tests/wine/run.sh flanneld.exe ...
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$1
dlls=${2:-$here/../../build/windows/hns-emulator}
made=${WEFT_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}/wineprefix
[ -d "$made/drive_c" ] || { echo "$made: no Wine prefix there; run: cmake/bootstrap.sh windows" >&2; exit 1; }
for name in computenetwork vmcompute bcryptprimitives; do
  [ -f "$dlls/$name.dll" ] || { echo "$dlls/$name.dll is missing; build hns_dlls of preset windows" >&2; exit 1; }
done
[ ! -e "$prefix" ] || { echo "$prefix is there already; choose another folder" >&2; exit 1; }
cp -a --reflink=auto "$made/." "$prefix"
cp "$dlls"/*.dll "$prefix/drive_c/windows/system32/"
