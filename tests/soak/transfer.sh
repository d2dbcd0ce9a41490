#!/usr/bin/env bash
# 10 GiB of TCP and 1,000,000 small datagrams each way against a Linux kernel peer: nothing altered, every loss accounted for
#   tests/soak/transfer.sh [--short] [--subject=weft|kernel]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/transfer.py" "$@"
