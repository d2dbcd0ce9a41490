#!/usr/bin/env bash
# One pod beside every load that another may put on its node, ten runs each, and kernel VXLAN beside weft; TCP ten minutes after forged ICMP errors
#   tests/soak/fairness.sh [--short]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/fairness.py" "$@"
