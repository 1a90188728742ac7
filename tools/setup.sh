#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The one list of Debian packages, by purpose; A|B is either of two. Installs those that are missing:
# tools/setup.sh [build] [mpi] [python] [test] [lint] [fuzz] [coverage] [peers] [browser] [cross] [wheel] [auditwheel] [root]
set -euo pipefail

build=(g++ make cmake ninja-build ccache pkg-config llvm-19-dev libxbyak-dev nlohmann-json3-dev libcli11-dev libfmt-dev libtbb-dev libsqlite3-dev)
mpi=(libopenmpi-dev openmpi-bin)
python=(pybind11-dev libdlpack-dev python3-dev python3-numpy)
test=(libgtest-dev libgmock-dev gdb 'libllvm14|libllvm18|libllvm22' zlib1g-dev python3-sklearn)  # another LLVM, for a test's process
lint=(clang-format-19 clang-tidy-19 git)
fuzz=(clang-19 libclang-rt-19-dev)
coverage=(llvm-19 python3)
peers=(libdnnl-dev python3 python3-numpy python3-torch libopenblas0-openmp)  # OpenBLAS: else PyTorch has reference BLAS
onnxruntime=(python3-onnxruntime python3-onnx)  # a peer, too, where the release has it: since Debian 13
browser=(chromium)  # opens the pages that tests look at
wheel=(python3-pip python3-setuptools python3-wheel python3-build python3-venv patchelf python3-pyelftools)
auditwheel=(python3-auditwheel python3-wheel)  # tools/wheel.sh; since sid
cross=(g++-aarch64-linux-gnu gcc-aarch64-linux-gnu qemu-user)
root=(debootstrap)  # tools/root.sh

sudo=()
if [[ $(id -u) -ne 0 ]]; then sudo=(sudo); fi
update() { "${sudo[@]}" apt-get update -q </dev/null >&2; }
known() { apt-cache show "$1" >/dev/null 2>&1; }
release_has() {
  command -v apt-cache >/dev/null || return 1
  known bash || update  # where apt has no lists yet
  known "$1"
}

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
    auditwheel) wanted+=("${auditwheel[@]}") ;;
    cross) wanted+=("${cross[@]}") ;;
    root) wanted+=("${root[@]}") ;;
    peers)
      wanted+=("${peers[@]}")
      if release_has python3-onnxruntime; then wanted+=("${onnxruntime[@]}"); fi
      ;;
    *) echo "setup.sh: unknown '$purpose'; one of: build mpi python test lint fuzz coverage peers browser cross wheel auditwheel root" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: not a Debian system; make sure it has: ${wanted[*]}" >&2
  exit 0
fi
installed() { [[ $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) == 'install ok installed' ]]; }
missing=()
for package in "${wanted[@]}"; do
  found=no
  for choice in ${package//|/ }; do
    if installed "$choice"; then found=yes; fi
  done
  [[ $found == yes ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

echo "setup.sh: installing ${missing[*]}" >&2
update
chosen=()
for package in "${missing[@]}"; do  # of several, the first that this release of Debian has
  for choice in ${package//|/ }; do
    if known "$choice"; then break; fi
  done
  chosen+=("$choice")
done
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${chosen[@]}" </dev/null >&2
