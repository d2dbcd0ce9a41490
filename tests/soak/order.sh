#!/usr/bin/env bash
# A Windows node's five events (Node, net-conf, kubeconfig, kube-proxy, flanneld) in each of their 120 orders; half an hour
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../e2e/run.sh" windows_order
