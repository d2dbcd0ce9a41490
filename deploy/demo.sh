#!/usr/bin/env bash
# Shows what weft does: a weft node and a Linux flannel node (the kernel's VXLAN device), each with
# a pod, in network namespaces of this machine: the two nodes of deploy/nodes.json. Builds, runs,
# measures, and removes everything it made. Debian 12, root, under five minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
usage: deploy/demo.sh [--no-build]
  --no-build   use the programs in WEFT_BUILD (default build/demo) as they are
TEXT
}
build=${WEFT_BUILD:-build/demo}
compile=yes
for word; do
  case $word in
    --no-build) compile= ;;
    *) usage; exit 2 ;;
  esac
done
if [ "$(id -u)" != 0 ]; then
  echo "demo: needs root: it installs Debian packages and makes network namespaces" >&2
  exit 1
fi

began=$SECONDS
title() { printf '\n\033[1m[%3d s] %s\033[0m\n' $((SECONDS - began)) "$*"; }
show() { printf '  $ %s\n' "$*"; }
indent() { sed 's/^/    /'; }

# ---- removed at the end, also after an error

work=$(mktemp -d "${TMPDIR:-/tmp}/weft-demo-XXXXXX")
weft=weft-demo-$$-weft weft_pod=weft-demo-$$-weft-pod
peer=weft-demo-$$-peer peer_pod=weft-demo-$$-peer-pod
daemon= server= emulator=
clean_up() {
  local status=$? name
  [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$emulator" ] || kill "$emulator" 2>/dev/null || true
  wait 2>/dev/null || true
  for name in "$weft_pod" "$weft" "$peer_pod" "$peer"; do
    ip netns delete "$name" 2>/dev/null || true
  done
  if [ $status != 0 ] && [ -s "$work/flanneld.log" ]; then
    echo "demo: failed; the daemon's last lines:" >&2
    tail -n 15 "$work/flanneld.log" >&2
  fi
  rm -rf "$work"
  exit $status
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# ---- the programs

compile_with_progress() {
  local line last=-10
  cmake --preset release -B "$build" >"$work/build.log" 2>&1 || return
  NINJA_STATUS='%f of %t ' ninja -C "$build" flanneld flannelctl 2>&1 | tee -a "$work/build.log" |
  while read -r line; do
    [[ $line =~ ^[0-9]+\ of\ [0-9]+\  ]] && [ $((SECONDS - last)) -ge 10 ] || continue
    last=$SECONDS
    printf '  [%3d s] compiled %s\n' $((SECONDS - began)) "$(cut -d' ' -f1-3 <<<"$line")"
  done
}

if [ -n "$compile" ]; then
  title "1. What is needed: Debian packages, and abseil built once"
  cmake/bootstrap.sh build demo
  title "2. Build flanneld and flannelctl"
  compile_with_progress || { tail -n 30 "$work/build.log" >&2; exit 1; }
fi
bin=$PWD/$build/bin
[[ $build != /* ]] || bin=$build/bin
ls -s -h --time-style=+ "$bin/flanneld" "$bin/flannelctl" | indent

# ---- two nodes, each with a pod

title "3. Two nodes with a pod each: node-1 runs weft, node-2 is Linux as flannel sets it up"
mac_weft=02:77:65:66:74:01 mac_peer=02:77:65:66:74:02
node() {  # NAMESPACE POD-NAMESPACE UNDERLAY-ADDRESS SUBNET-START
  ip -n "$1" address add "$3/24" dev u0
  ip -n "$1" link set lo up
  ip -n "$1" link set u0 up
  ip netns exec "$1" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
  ip link add e0 mtu 1450 netns "$2" type veth peer name pod mtu 1450 netns "$1"
  ip -n "$1" address add "$4.1/24" dev pod
  ip -n "$1" link set pod up
  ip -n "$2" address add "$4.2/24" dev e0
  ip -n "$2" link set e0 up
  ip -n "$2" route add default via "$4.1"
}
kernel_vxlan() {  # NAMESPACE, then ADDRESS SUBNET-START MAC of its own and of the peer
  ip -n "$1" link add flannel.4096 address "$4" mtu 1450 \
    type vxlan id 4096 local "$2" dev u0 dstport 4789 nolearning udpcsum
  ip -n "$1" address add "$3.0/32" dev flannel.4096
  ip -n "$1" link set flannel.4096 up
  ip -n "$1" neighbour add "$6.0" lladdr "$7" dev flannel.4096 nud permanent
  ip netns exec "$1" bridge fdb add "$7" dev flannel.4096 dst "$5" self permanent
  ip -n "$1" route add "$6.0/24" via "$6.0" dev flannel.4096 onlink
}
for name in "$weft" "$weft_pod" "$peer" "$peer_pod"; do ip netns add "$name"; done
ip link add u0 mtu 1500 netns "$weft" type veth peer name u0 mtu 1500 netns "$peer"
node "$weft" "$weft_pod" 192.168.77.1 10.244.1
node "$peer" "$peer_pod" 192.168.77.2 10.244.2
kernel_vxlan "$peer" 192.168.77.2 10.244.2 $mac_peer 192.168.77.1 10.244.1 $mac_weft

cp deploy/nodes.json deploy/net-conf.json "$work"

start_weft() {
  ip netns exec "$weft" "$bin/flanneld" --lease-source="file:$work/nodes.json" --node-name=node-1 \
    --iface=192.168.77.1 --net-config-path="$work/net-conf.json" --subnet-file="$work/subnet.env" \
    --admin="$work/weft.sock" --state-dir="$work/state" --hns="emulator:$work/hns.sock" \
    >"$work/flanneld.log" 2>&1 &
  daemon=$!
  local deadline=$((SECONDS + 15))
  until [ -s "$work/subnet.env" ]; do
    kill -0 "$daemon" 2>/dev/null || { wait "$daemon" || true; daemon=; return 1; }
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.05
  done
}
show "flannelctl hns emulate --listen=hns.sock --adapter=u0=192.168.77.1/24 &   # plays a Windows node's HNS"
"$bin/flannelctl" hns emulate --listen="$work/hns.sock" --adapter=u0=192.168.77.1/24 >"$work/emulator.log" 2>&1 &
emulator=$!
until [ -S "$work/hns.sock" ]; do kill -0 $emulator || { cat "$work/emulator.log" >&2; exit 1; }; sleep 0.02; done
show 'flanneld --lease-source=file:nodes.json --node-name=node-1 --iface=192.168.77.1 \
      --net-config-path=net-conf.json --subnet-file=subnet.env --admin=weft.sock \
      --state-dir=state --hns=emulator:hns.sock      # both JSON files are in deploy/'
start_weft
show "cat subnet.env          # what the CNI plugin reads"
indent <"$work/subnet.env"
show "flannelctl leases       # who is in the cluster"
"$bin/flannelctl" leases --admin="$work/weft.sock" | indent
show "flannelctl hns show flannel.4096 --hns=emulator:hns.sock   # as a Windows node's HNS"
"$bin/flannelctl" hns show flannel.4096 --hns="emulator:$work/hns.sock" |
  indent

# ---- traffic

in_weft_pod() { ip netns exec "$weft_pod" "$@"; }
in_peer_pod() { ip netns exec "$peer_pod" "$@"; }

title "4. Pods talk through VXLAN (VNI 4096, UDP 4789)"
show "ping 10.244.2.2         # weft's pod to the Linux node's pod, and back"
in_weft_pod ping -n -q -c 3 -i 0.1 10.244.2.2 | tail -n 2 | indent
in_peer_pod ping -n -q -c 3 -i 0.1 10.244.1.2 | tail -n 2 | indent
show "tcpdump -v udp port 4789   # the frame that weft puts on the wire"
ip netns exec "$peer" tcpdump -i u0 -n -v -t -c 1 --immediate-mode \
  'udp dst port 4789 and src 192.168.77.1' >"$work/frame" 2>"$work/tcpdump.log" &
sniffer=$!
until grep -qs 'listening on' "$work/tcpdump.log"; do kill -0 $sniffer; sleep 0.02; done
in_weft_pod ping -n -q -c 1 -s 1422 10.244.2.2 >/dev/null
wait $sniffer
indent <"$work/frame"

# ---- speed

iperf() {  # SERVER-POD CLIENT-POD ADDRESS FLAGS...: Gb/s as received
  local server_pod=$1 client_pod=$2 address=$3 rate
  shift 3
  : >"$work/server.log"  # before the server starts: the last one's "listening" must not count
  ip netns exec "$server_pod" iperf3 -s -1 --forceflush >>"$work/server.log" 2>&1 &
  server=$!
  until grep -q listening "$work/server.log"; do kill -0 $server || return; sleep 0.02; done
  rate=$(ip netns exec "$client_pod" iperf3 -c "$address" -t 3 -f g "$@" |
    awk '/receiver/ { v = $(NF - 2) } /SUM.*receiver/ { v = $(NF - 2) } END { print v }') ||
    { kill $server; return 1; }
  wait $server
  server=
  printf '%s' "$rate"
}
round_trip() {
  ip netns exec "$1" ping -n -q -c 200 -i 0.005 "$2" | awk -F/ '/^rtt/ { printf "%.0f", $5 * 1000 }'
}

title "5. How fast: TCP for 3 seconds on this machine, load generators included"
row() { printf '    %-46s %10s %10s\n' "$@"; }
row "" "weft" "kernel"
to_peer=$(iperf "$peer_pod" "$weft_pod" 10.244.2.2)
to_weft=$(iperf "$weft_pod" "$peer_pod" 10.244.1.2)
four=$(iperf "$peer_pod" "$weft_pod" 10.244.2.2 -P 4)
rtt=$(round_trip "$weft_pod" 10.244.2.2)
"$bin/flannelctl" status --admin="$work/weft.sock" >"$work/status"
kill "$daemon"
wait "$daemon"
daemon=
# The same node, now with the kernel's device.
kernel_vxlan "$weft" 192.168.77.1 10.244.1 $mac_weft 192.168.77.2 10.244.2 $mac_peer
kernel_to_peer=$(iperf "$peer_pod" "$weft_pod" 10.244.2.2)
kernel_four=$(iperf "$peer_pod" "$weft_pod" 10.244.2.2 -P 4)
kernel_rtt=$(round_trip "$weft_pod" 10.244.2.2)
row "1 stream to the Linux node, Gb/s" "$to_peer" "$kernel_to_peer"
row "1 stream from the Linux node, Gb/s" "$to_weft" ""
row "4 streams to the Linux node, Gb/s" "$four" "$kernel_four"
row "round trip, us" "$rtt" "$kernel_rtt"
echo "    weft copies each packet through user space; the kernel does not. On Windows HNS moves"
echo "    packets, and weft only programs it."
echo
show "flannelctl status       # after this traffic"
indent <"$work/status"

title "Done, and everything is removed. Two nodes to try out: deploy/two-nodes.sh"
