#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Downloads the arm64 packages the project needs and what they depend on, and unpacks them into a folder, for cross-compiling.
# Nothing is installed, and the machine's own package lists stay as they are: aarch64_root.sh DIR
set -euo pipefail
root=$(realpath -m "${1:?usage: aarch64_root.sh DIR}")
packages=(llvm-19-dev libtbb-dev libgtest-dev libgmock-dev libfmt-dev nlohmann-json3-dev libcli11-dev libsqlite3-dev zlib1g-dev)

apt=$root.apt
mkdir -p "$apt"/state/lists/partial "$apt"/cache/archives/partial
touch "$apt/status"
cat >"$apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures {"arm64";};
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
CONF
(cd "$apt/cache/archives" && apt-get download -q libxbyak-dev >&2)  # headers; Debian has the package for amd64 only
export APT_CONFIG=$apt/apt.conf
apt-get update -q >&2
apt-get install -q -y --no-install-recommends --download-only "${packages[@]}" >&2

mkdir -p "$root"
for package in "$apt"/cache/archives/*.deb; do
  case $(basename "$package") in
    libc6* | libstdc++* | libgcc* | gcc-* | g++-* | cpp* | linux-libc-dev*) ;;  # the cross-compiler brings its own
    *) dpkg-deb -x "$package" "$root" ;;
  esac
done
echo "$root"
