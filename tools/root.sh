#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs a command in this tree on another release of Debian than this machine's: tools/root.sh trixie|sid|SUITE COMMAND...
# The release is unpacked once, into build/roots/SUITE, from the mirror that apt uses here. Inside, the tree is /cubejit, its build folder
# is one of its own (here build/roots/SUITE.build), the environment is empty and ccache's folder is this machine's. Nothing stays mounted.
# To begin anew, remove build/roots/SUITE.
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# < 2)); then
  echo "usage: root.sh SUITE COMMAND..., for instance root.sh trixie tools/test.sh" >&2
  exit 2
fi
if [[ $(id -u) -ne 0 ]]; then exec sudo tools/root.sh "$@"; fi
suite=$1 root=$PWD/build/roots/$1
shift
mkdir -p "$root.build"

mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | sed -n 1p
}

make_root() {
  tools/setup.sh root
  [[ -n $(mirror) ]] || apt-get update -q >&2
  if [[ -z $(mirror) ]]; then
    echo "root.sh: apt has no mirror of Debian here to take $suite from" >&2
    return 1
  fi
  echo "root.sh: making $root" >&2
  rm -rf --one-file-system "$root.new"  # what an earlier run was interrupted in
  if ! unshare --mount debootstrap --variant=minbase --include=ca-certificates "$suite" "$root.new" "$(mirror)" >"$root.log" 2>&1; then
    tail -n 5 "$root.log" >&2
    return 1
  fi
  echo force-unsafe-io >"$root.new/etc/dpkg/dpkg.cfg.d/speed"
  mv "$root.new" "$root"
}

# How this machine reaches the network.
copy_network() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  if [[ -f /etc/ssl/certs/ca-certificates.crt ]]; then cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"; fi
  if [[ -f /etc/pip.conf ]]; then cp /etc/pip.conf "$root/etc/"; fi
  apt-config dump | { grep -E '^Acquire::(https?|ftp|Check-|ForceIP|Retries)' || true; } >"$root/etc/apt/apt.conf.d/90machine"
}

# In a mount namespace of its own, which ends with the command.
enter() {
  set -euo pipefail
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/dev/shm"
  mkdir -p "$root/cubejit" "$root/ccache"
  mount --bind . "$root/cubejit"
  mount --bind "$root.build" "$root/cubejit/build"
  if [[ -n $cache ]]; then mount --bind "$cache" "$root/ccache"; fi
  exec chroot "$root" env -i --chdir=/cubejit HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CCACHE_DIR=/ccache TERM="${TERM:-dumb}" ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}

exec {lock}>"$root.lock"
flock "$lock"
if [[ ! -d $root ]]; then make_root; fi
copy_network
exec {lock}>&-

cache=
if command -v ccache >/dev/null; then
  cache=$(ccache --get-config cache_dir)
  mkdir -p "$cache"
fi
export root cache
export -f enter
exec unshare --mount bash -c 'enter "$@"' enter "$@"
