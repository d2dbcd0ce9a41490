#!/usr/bin/env bash
# A bare Debian in a folder, with nothing but git in it: README's commands from a fresh clone, and the time each takes
#   tests/soak/bare.sh [--short | COMMAND...]     default: deploy/demo.sh, tests/run.sh, .ci/run; --short: deploy/demo.sh
#                                                 WEFT_BARE: where its folder is made (/var/tmp); deleted at the end
#                                                 WEFT_BARE_RELEASE: the Debian in it (this machine's), as trixie
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# What README and CONTRIBUTING.md promise, in seconds. A time above it is printed; one above half as much again fails.
limit_of() {
  case $1 in
    deploy/demo.sh) echo 300 ;;
    tests/run.sh) echo 720 ;;
    *) echo 3600 ;;
  esac
}

case ${1:-} in
  --short) set -- deploy/demo.sh ;;
  "") set -- deploy/demo.sh tests/run.sh .ci/run ;;
esac
[ "$(id -u)" = 0 ] || { echo "tests/soak/bare: needs root (chroot, mounts)" >&2; exit 1; }

# Each command gets a system of its own, in a mount namespace of its own: whatever happens, the machine's mounts are as they were.
if [ -z "${WEFT_BARE_INSIDE:-}" ]; then
  cmake/bootstrap.sh bare || exit 1
  passed=0 failed=0
  for command; do
    root=$(mktemp -d "${WEFT_BARE:-/var/tmp}/weft-bare-XXXXXX") || exit 1
    trap 'rm -rf --one-file-system "$root"' EXIT
    if WEFT_BARE_INSIDE=$root unshare --mount --pid --fork --kill-child "$0" "$command"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
    fi
    rm -rf --one-file-system "$root"
  done
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
fi

root=$WEFT_BARE_INSIDE logs=$PWD/build/logs
mkdir -p "$logs"
chmod 755 "$root"  # apt reads as another user
machine=$(. /etc/os-release && echo "$VERSION_CODENAME")
release=${WEFT_BARE_RELEASE:-$machine}
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $machine" | head -n 1)
echo "a bare Debian ($release) ..."
debootstrap --variant=minbase --include=git,ca-certificates "$release" "$root" "$mirror" >"$logs/bare-debootstrap.log" 2>&1 ||
  { tail -n 20 "$logs/bare-debootstrap.log"; exit 1; }
# How this machine reaches its registries: apt's, Go's, pip's, certificates, names.
rm -rf "$root/etc/apt" "$root/etc/ssl/certs"
cp -aL /etc/apt /etc/resolv.conf /etc/hosts "$root/etc/"
cp -aL /etc/ssl/certs "$root/etc/ssl/"
find "$root/etc/apt" -name '*.list' -o -name '*.sources' | xargs -r sed -i "s/\b$machine\b/$release/g"
[ ! -d /usr/local/share/ca-certificates ] || cp -a /usr/local/share/ca-certificates "$root/usr/local/share/"
[ ! -d "$HOME/.config/go" ] || { mkdir -p "$root/root/.config" && cp -a "$HOME/.config/go" "$root/root/.config/"; }
git clone -q --no-hardlinks . "$root/root/weft" || exit 1

mount --make-rprivate /
mount --bind "$root" "$root"  # `ip netns` requires / to be a mount
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"

[ ! -f /etc/pip.conf ] || cp -aL /etc/pip.conf "$root/etc/"

go_proxy=$(go env GOPROXY 2>/dev/null)
command=$1
name=${command// /-} limit=$(limit_of "$command")
log=$logs/bare-${name//\//-}.log
began=$SECONDS
# shellcheck disable=SC2086  # words
env -u WEFT_DEPS -u WEFT_BUILD -u WEFT_BARE_INSIDE -u WEFT_BARE_RELEASE -u XDG_CACHE_HOME HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  ${go_proxy:+GOPROXY="$go_proxy"} CI=true \
  chroot "$root" sh -c 'cd /root/weft && exec '"$command" </dev/null >"$log" 2>&1
status=$? took=$((SECONDS - began))
[ $took -le "$limit" ] || echo "$name took $took s: $((took - limit)) s over its limit of $limit"
if [ $status = 0 ] && [ $took -le $((limit * 3 / 2)) ]; then
  echo "ok $name ($took s of $limit)"
  exit 0
fi
echo "not ok $name: exit status $status after $took s of $limit; log $log"
tail -n 15 "$log"
exit 1
