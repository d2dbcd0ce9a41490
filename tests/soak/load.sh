#!/usr/bin/env bash
# Twenty minutes of full load with a lease change every millisecond: nothing grows, nothing stalls, every drop has a name
#   tests/soak/load.sh [--short]        WEFT_LOAD_SECONDS: how long (1200, with --short 24)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/load.py" "$@"
