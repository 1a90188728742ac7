#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The one list of Debian packages, by purpose. Installs those that are missing: tools/setup.sh [build] [mpi] [python] [test] [lint] [fuzz] [coverage] [peers] [browser] [cross] [wheel]
set -euo pipefail

build=(g++ make cmake ninja-build ccache pkg-config llvm-19-dev libxbyak-dev nlohmann-json3-dev libcli11-dev libfmt-dev libtbb-dev libsqlite3-dev)
mpi=(libopenmpi-dev openmpi-bin)
python=(pybind11-dev libdlpack-dev python3-dev python3-numpy)
test=(libgtest-dev libgmock-dev gdb libllvm14 zlib1g-dev python3-sklearn)  # libllvm14: another LLVM in a test's process
lint=(clang-format-19 clang-tidy-19 git)
fuzz=(clang-19 libclang-rt-19-dev)
coverage=(llvm-19 python3)
peers=(libdnnl-dev python3 python3-numpy python3-torch)

browser=(chromium)  # opens the pages that tests look at
wheel=(python3-pip python3-setuptools python3-wheel python3-build python3-venv)
cross=(g++-aarch64-linux-gnu gcc-aarch64-linux-gnu qemu-user)

wanted=()
for purpose in "${@:-build}"; do
  case $purpose in
    build) wanted+=("${build[@]}") ;;
    mpi) wanted+=("${mpi[@]}") ;;
    python) wanted+=("${python[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    fuzz) wanted+=("${fuzz[@]}") ;;
    coverage) wanted+=("${coverage[@]}") ;;
    browser) wanted+=("${browser[@]}") ;;
    wheel) wanted+=("${wheel[@]}") ;;
    cross) wanted+=("${cross[@]}") ;;
    peers) wanted+=("${peers[@]}") ;;
    *) echo "setup.sh: unknown purpose '$purpose'; one of: build mpi python test lint fuzz coverage peers browser cross wheel" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: not a Debian system; make sure it has: ${wanted[*]}" >&2
  exit 0
fi
missing=()
for package in "${wanted[@]}"; do
  [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == 'install ok installed' ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

echo "setup.sh: installing ${missing[*]}" >&2
root=()
if [[ $(id -u) -ne 0 ]]; then root=(sudo); fi
"${root[@]}" apt-get update -q </dev/null >&2
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null >&2
