#!/usr/bin/env bash
# An hour of Nodes' heartbeats, none of which is a change: memory stays, nothing is written, nothing is logged
#   tests/soak/churn.sh [--short]        WEFT_CHURN_SECONDS: how long (3600, with --short 20)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/churn.py" "$@"
