#!/usr/bin/env bash
# Two weft nodes without a cluster, in network namespaces of this machine, until Ctrl-C: those of
# deploy/nodes.json. Needs root, and the programs that deploy/demo.sh builds.
#   deploy/two-nodes.sh [NAME]   namespaces NAME-1 and NAME-2; default: node
set -euo pipefail
if [ "$(id -u)" != 0 ]; then
  echo "two-nodes: needs root: it makes network namespaces" >&2
  exit 1
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
name=${1:-node}
if [[ $name == -* ]]; then
  sed -n '2,4s/^# *//p' deploy/two-nodes.sh
  exit 2
fi
bin=${WEFT_BUILD:-build/demo}/bin
folder=/run/weft-$name
if ! [ -x "$bin/flanneld" ]; then
  echo "two-nodes: $bin/flanneld does not exist; run deploy/demo.sh, or set WEFT_BUILD" >&2
  exit 1
fi
for path in "$folder" "/run/netns/$name-1" "/run/netns/$name-2"; do
  if [ -e "$path" ]; then
    echo "two-nodes: $path exists: stop the other two-nodes.sh, or give another NAME" >&2
    exit 1
  fi
done

daemons=()
clean_up() {
  [ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null || true
  wait
  for n in 1 2; do ip netns delete "$name-$n" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 0' INT TERM

# ---- two hosts on one link

for n in 1 2; do ip netns add "$name-$n"; done
ip link add eth0 netns "$name-1" type veth peer name eth0 netns "$name-2"
for n in 1 2; do
  ip -n "$name-$n" address add 192.168.77.$n/24 dev eth0
  ip -n "$name-$n" link set eth0 up
done

# ---- flanneld on each; they share the two example files, all else is each one's own

mkdir -p "$folder"
cp deploy/nodes.json deploy/net-conf.json "$folder"
for n in 1 2; do
  ip netns exec "$name-$n" "$bin/flanneld" --node-name=node-$n --iface=eth0 \
    --lease-source="file:$folder/nodes.json" --net-config-path="$folder/net-conf.json" \
    --subnet-file="$folder/subnet-$n.env" --admin="$folder/$n.sock" \
    --state-dir="$folder/state-$n" 2>"$folder/$n.log" &
  daemons+=($!)
done
for n in 1 2; do
  until [ -s "$folder/subnet-$n.env" ]; do
    kill -0 "${daemons[n - 1]}" 2>/dev/null || { cat "$folder/$n.log" >&2; exit 1; }
    sleep 0.05
  done
done

cat <<TEXT
Both nodes are ready. In another terminal, as root:

  ip netns exec $name-1 ping 10.244.2.0
  $bin/flannelctl leases --admin=$folder/1.sock
  $bin/flannelctl status --admin=$folder/1.sock
  tail -f $folder/1.log

The cluster is $folder/nodes.json: change it, and both follow. Ctrl-C removes everything.
TEXT
wait -n || true
echo "two-nodes: a flanneld ended:" >&2
tail -n 5 "$folder"/*.log >&2
exit 1
