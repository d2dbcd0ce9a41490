#!/usr/bin/env bash
# README's two commands on a bare Debian 13; an hour
set -euo pipefail
WEFT_BARE_RELEASE=trixie exec "$(dirname "${BASH_SOURCE[0]}")/bare.sh" deploy/demo.sh tests/run.sh
