#!/usr/bin/env bash
# Clusters that take minutes each, for a real API server is silent that long: an etcd put back from an old backup
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../e2e/run.sh" outage.etcd_restored
