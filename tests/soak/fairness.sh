#!/usr/bin/env bash
# One pod next to every load that another pod may cause on its node, ten runs each, and kernel VXLAN next to weft; TCP ten minutes after forged
# ICMP errors
#   tests/soak/fairness.sh [--short]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/fairness.py" "$@"
