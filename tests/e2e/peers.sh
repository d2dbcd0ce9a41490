#!/usr/bin/env bash
# The real peers, built from released Go modules: upstream flanneld, etcd, kube-apiserver, kubectl, helm, kustomize; for Windows flanneld,
# kube-proxy and the CNI plugins; and nodeload, hcsshim-probe and a stand-in for PowerShell, which are ours.
#   tests/e2e/peers.sh [--missing | --go] [NAME...]     default: all that are missing; helm3 with the oldest only
# WEFT_PEERS=today, the default, builds into $WEFT_DEPS/peers; WEFT_PEERS=oldest builds the oldest that people have into $WEFT_DEPS/peers-oldest.
# Some ten minutes with cold caches on two cores; Go's own caches then hold some 7 GB, which may be deleted.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${WEFT_DEPS:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}

go_version=1.27.4  # kustomize requires it
flannel_version=v0.28.10
etcd_version=v3.7.3
kubernetes_version=v1.37.2
kube_proxy_version=$kubernetes_version
plugins_version=v1.10.0
helm_version=v4.3.1
helm3_version=v3.22.0
kustomize_version=v5.8.3
kube_openapi_version=v0.0.0-20260721132016-d427ff9ee9ad  # kubernetes_version's
peers=(flanneld etcd kube-apiserver kubectl nodeload helm kustomize
  flanneld.exe kube-proxy.exe flannel.exe win-overlay.exe win-bridge.exe sdnoverlay.exe host-local.exe hcsshim-probe.exe powershell.exe)
linked=$cache/peers
case ${WEFT_PEERS:-today} in
  today) ;;
  oldest)
    flannel_version=v0.25.7
    etcd_version=v3.5.21
    kubernetes_version=v1.33.13
    kube_proxy_version=v1.36.3  # the last that takes an HNS that is away for a lost network
    plugins_version=v1.6.2
    helm3_version=v3.17.4
    peers+=(helm3)
    linked=$cache/peers-oldest ;;
  *) echo "peers: WEFT_PEERS is today or oldest" >&2; exit 2 ;;
esac

# ---- Recipes: recipe_NAME OUTPUT, in an empty folder. Their text is part of the store's key.

recipe_flanneld() { CGO_ENABLED=1 flannel_program "$1"; }  # the udp backend is C
recipe_flanneld.exe() { GOOS=windows CGO_ENABLED=0 flannel_program "$1"; }

# One cloud backend's SDK is not served by every proxy, so its import is removed.
flannel_program() {
  cp -r "$(module_folder "github.com/flannel-io/flannel@$flannel_version")" flannel
  chmod -R u+w flannel
  sed -i '/pkg\/backend\/tencentvpc/d' flannel/main.go
  go build -C flannel -ldflags "-s -w -X github.com/flannel-io/flannel/pkg/version.Version=$flannel_version" -o "$1" .
}

# etcd's server module has no main package; its go.sum names all that it needs.
recipe_etcd() {
  cp "$(module_folder "go.etcd.io/etcd/server/v3@$etcd_version")/go.sum" .
  printf 'module peers/etcd\ngo 1.26\nrequire go.etcd.io/etcd/server/v3 %s\n' "$etcd_version" >go.mod
  cat >main.go <<'GO'
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
GO
  CGO_ENABLED=0 go build -ldflags "-s -w" -o "$1" .
}

recipe_kube-apiserver() { kubernetes_program kube-apiserver "$kubernetes_version" "$1"; }
recipe_kubectl() { kubernetes_program kubectl "$kubernetes_version" "$1"; }
recipe_kube-proxy.exe() { GOOS=windows kubernetes_program kube-proxy "$kube_proxy_version" "$1"; }

# Kubernetes points its staging modules at folders that its released archive lacks: here at their releases.
kubernetes_program() {
  local source
  source=$(module_folder "k8s.io/kubernetes@$2")
  cp "$source/go.sum" .
  {
    printf 'module peers/kubernetes\ngo 1.26\nrequire k8s.io/kubernetes %s\nreplace (\n' "$2"
    grep -oE '^\s+k8s.io/[a-z-]+ => ./staging' "$source/go.mod" | awk -v v="v0.${2#v1.}" '{ print $1 " => " $1 " " v }'
    echo ')'
  } >go.mod
  printf '//go:build tools\n\npackage peers\n\nimport _ "k8s.io/kubernetes/cmd/%s"\n' "$1" >tools.go
  CGO_ENABLED=0 go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$2" -o "$3" "k8s.io/kubernetes/cmd/$1"
}

recipe_helm() {
  released_source "helm.sh/helm/v4@$helm_version"
  CGO_ENABLED=0 go build -C source -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$helm_version" -o "$1" ./cmd/helm
}

# Helm 3 learns from its build for which Kubernetes it renders, as its own makefile does; helm 4 reads its modules.
recipe_helm3() {
  local minor=${kubernetes_version#v1.} flags="-X helm.sh/helm/v3/internal/version.version=$helm3_version" each
  for each in chartutil lint/rules; do
    flags+=" -X helm.sh/helm/v3/pkg/$each.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$each.k8sVersionMinor=${minor%.*}"
  done
  released_source "helm.sh/helm/v3@$helm3_version"
  CGO_ENABLED=0 go build -C source -ldflags "-s -w $flags" -o "$1" ./cmd/helm
}

# The version of kube-openapi that it names is not served by every proxy.
recipe_kustomize() {
  released_source "sigs.k8s.io/kustomize/kustomize/v5@$kustomize_version"
  go mod edit -replace "k8s.io/kube-openapi=k8s.io/kube-openapi@$kube_openapi_version" source/go.mod
  CGO_ENABLED=0 go build -C source -ldflags "-s -w" -o "$1" .
}

# The module's own go.mod and go.sum, with its sources, in the folder source.
released_source() {
  cp -r "$(module_folder "$1")" source
  chmod -R u+w source
}

# Flannel's own plugin, as released last before it moved to github.com/flannel-io/cni-plugin, which not every proxy serves.
recipe_flannel.exe() { cni_plugin meta/flannel "$1" v0.9.1; }
recipe_win-overlay.exe() { cni_plugin main/windows/win-overlay "$1" "$plugins_version"; }
recipe_win-bridge.exe() { cni_plugin main/windows/win-bridge "$1" "$plugins_version"; }
recipe_host-local.exe() { cni_plugin ipam/host-local "$1" "$plugins_version"; }

cni_plugin() {
  printf 'module peers/cni\ngo 1.26\n' >go.mod
  go get "github.com/containernetworking/plugins@$3"
  GOOS=windows CGO_ENABLED=0 go build -ldflags "-s -w" -o "$2" "github.com/containernetworking/plugins/plugins/$1"
}

# Of Microsoft's module no checksum database has a record that every proxy passes on.
recipe_sdnoverlay.exe() {
  local module=github.com/Microsoft/windows-container-networking
  printf 'module peers/sdn\ngo 1.26\n' >go.mod
  GONOSUMDB=github.com/Microsoft go get "$module@v0.3.1"
  GONOSUMDB=github.com/Microsoft GOOS=windows CGO_ENABLED=0 go build -ldflags "-s -w" -o "$1" "$module/plugins/sdnoverlay"
}

recipe_hcsshim-probe.exe() {
  cp "$here"/hcsshim_probe/* .
  GOOS=windows CGO_ENABLED=0 go build -ldflags "-s -w" -o "$1" .
}

recipe_powershell.exe() { GOOS=windows CGO_ENABLED=0 go build -C "$here/powershell" -ldflags "-s -w" -o "$1" .; }

recipe_nodeload() { CGO_ENABLED=0 go build -C "$here/nodeload" -ldflags "-s -w" -o "$1" .; }

module_folder() { go mod download -json "$1" | sed -nE 's/^\s*"Dir": "(.*)",?$/\1/p'; }

# ---- Go, at least as new as Kubernetes requires

new_enough() {
  local version
  version=$("$1" env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' "go${go_version%.*}" "$version" | sort -V | head -n 1)" = "go${go_version%.*}" ]
}

# Prints the go to use, nothing if there is none yet.
find_go() {
  local each
  for each in "$(command -v go || true)" /usr/local/go/bin/go "$cache/store/go-$go_version/bin/go"; do
    if [ -n "$each" ] && new_enough "$each"; then
      echo "$each"
      return
    fi
  done
}

# Released toolchains are modules too, so that an old go can fetch a new one.
fetch_go() {
  local folder work=$cache/work/go
  command -v go >/dev/null || { echo "peers: no go at all; run: cmake/bootstrap.sh peers" >&2; exit 1; }
  rm -rf "$work" && mkdir -p "$work" "$cache/store" && cd "$work"
  printf 'module peers/go\n' >go.mod
  folder=$(module_folder "golang.org/toolchain@v0.0.1-go$go_version.linux-$(dpkg --print-architecture)")
  cp -r "$folder" "$work/go"
  chmod -R u+w "$work/go"
  chmod +x "$work"/go/bin/* "$work"/go/pkg/tool/*/*
  mv "$work/go" "$cache/store/go-$go_version"
}

# ---- The store: folders NAME-KEY, complete or absent

stored() {
  local key text each
  text=$(declare -f "recipe_$1")
  for each in flannel_program kubernetes_program released_source cni_plugin; do
    [[ $text != *$each* ]] || text+=$(declare -f "$each")
  done
  key=$({
    echo "$text"
    for each in $(grep -oE '[a-z0-9_]+_version' <<<"$text" | sort -u); do echo "$each ${!each}"; done
    [ "$1" != hcsshim-probe.exe ] || cat "$here"/hcsshim_probe/*
    [ "$1" != powershell.exe ] || cat "$here"/powershell/*
    [ "$1" != nodeload ] || cat "$here"/nodeload/*
  } | sha256sum | cut -c1-12)
  echo "$cache/store/peer-$1-$key"
}

missing() { [ ! -x "$(stored "$1")/$1" ] || [ "$(readlink "$linked/$1")" != "$(stored "$1")/$1" ]; }

build() {
  local name=$1 target work=$cache/work/peer-$1
  target=$(stored "$name")
  if [ ! -x "$target/$name" ]; then
    rm -rf "$work" && mkdir -p "$work/source" "$work/prefix" "$cache/store"
    cd "$work/source"
    "recipe_$name" "$work/prefix/$name"
    mv -T "$work/prefix" "$target"
    rm -rf "$work"
  fi
  mkdir -p "$linked"
  ln -sfn "$target/$name" "$linked/$name"
}

case ${1:-} in
  --go)
    find_go | grep .
    exit ;;
  --missing)
    for name in "${peers[@]}"; do ! missing "$name" || echo "$name"; done
    exit ;;
esac

[ $# -gt 0 ] || set -- "${peers[@]}"
for name; do
  declare -f "recipe_$name" >/dev/null || { echo "peers: no recipe for $name; there are: ${peers[*]}" >&2; exit 2; }
done
[ -n "$(find_go)" ] || (fetch_go)
PATH=$(dirname "$(find_go)"):$PATH
# Without debug information, which nobody reads: an eighth of the compiler's time. Without inlining, and with garbage collected late: a sixth each.
export PATH GOGC=400 GOTOOLCHAIN=local GOFLAGS="-mod=mod -buildvcs=false '-gcflags=all=-dwarf=false -l'" GOWORK=off
for name; do
  ! missing "$name" || (build "$name")
done
