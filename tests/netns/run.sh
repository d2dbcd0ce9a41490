#!/usr/bin/env bash
# Real traffic between weft and Linux kernel VXLAN peers, in network namespaces.
#   tests/netns/run.sh [--list] [--subject=weft|kernel] [--exactly NAME] [NAME...]      WEFT_BUILD: the build folder, default build/dev
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [[ " $* " != *" --list "* ]]; then
  [ "$(id -u)" = 0 ] || { echo "tests/netns: needs root (network namespaces)" >&2; exit 1; }
  missing=()
  for tool in ip bridge ethtool nft iptables-legacy iptables ping tcpdump tshark iperf3 python3; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} = 0 ] || { echo "tests/netns: missing: ${missing[*]}; run: cmake/bootstrap.sh netns" >&2; exit 1; }
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/suite.py" "$@"
