#!/usr/bin/env bash
# Writes the plain YAML of deploy/windows and deploy/linux from the chart.
#   deploy/render.sh [FOLDER]     default: deploy; needs helm (cmake/bootstrap.sh peers)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
to=$(realpath -m "${1:-$here}")
helm=${WEFT_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}/peers/helm
[ "${WEFT_PEERS:-today}" = today ] || helm=${helm%/*}-$WEFT_PEERS/helm
[ -x "$helm" ] || { echo "deploy/render.sh: $helm is missing; run: cmake/bootstrap.sh peers" >&2; exit 1; }

# render FILE WHAT HELM-ARGUMENT...
render() {
  local file=$to/$1 what=$2
  shift 2
  mkdir -p "$(dirname "$file")"
  {
    echo "# $what"
    echo "# Made by deploy/render.sh from deploy/chart/weft: change that, not this."
    "$helm" template weft "$here/chart/weft" --namespace kube-flannel "$@" | sed '/^# Source: /d; /^$/d'  # Helm 4 adds empty lines
  } >"$file.new"
  mv "$file.new" "$file"
}

render windows/flannel-windows.yaml "weft on Windows nodes; ServiceAccount, role and net-conf.json are those of the flannel that runs on Linux." \
  --set rbac.create=false,serviceAccount.create=false,netConf.existingConfigMap=kube-flannel-cfg
render windows/kube-proxy-windows.yaml "kube-proxy on Windows nodes, with the source VIP that flanneld reserves; set the image's version." \
  --set windows.kubeProxy.enabled=true --show-only templates/kube-proxy.yaml
render windows/cleanup-windows.yaml "Deletes what flanneld made on a drained node where it does not run any more; set nodeName." \
  --set 'windows.cleanup.nodes={win1}' --show-only templates/windows-cleanup.yaml
render linux/flannel.yaml "weft on Linux nodes, with all that flanneld needs; deploy/windows adds Windows nodes." \
  --set linux.enabled=true,windows.enabled=false,namespace.create=true
