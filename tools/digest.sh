#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Proves that a change of structure changes nothing that is generated.
#   tools/digest.sh write FILE [RANDOM_PROBLEMS]   one digest a (problem, gradient, type, layout, ISA) of what this tree generates:
#                                                  machine code, calls, bytes of workspace, predicted cost; results and counts of
#                                                  emulated chips
#   tools/digest.sh compare BEFORE AFTER           says what differs; fails if anything does
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
usage() { sed -n '3,7s/^# *//p' "$0" >&2; exit 2; }

case ${1:-} in
  write)
    (($# >= 2 && $# <= 3)) || usage
    build=$root/build/digest
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DCUBEJIT_TESTS=OFF \
      -DCUBEJIT_BENCH=OFF -DCUBEJIT_EXAMPLES=OFF -DCUBEJIT_LLVM=OFF -DCUBEJIT_PYTHON=OFF >/dev/null
    cmake --build "$build" --target cubejit_digest >&2
    "$build/tools/digest/cubejit_digest" "${3:-2000}" "$root"/bench/shapes/*.jsonl >"$2"
    echo "$(wc -l <"$2") digests in $2"
    ;;
  compare)
    (($# == 3)) || usage
    if changes=$(diff "$2" "$3"); then
      echo "0 of $(wc -l <"$2") digests changed"
    else
      head -20 <<<"$changes"
      echo "$(grep -c '^>' <<<"$changes" || true) of $(wc -l <"$3") digests changed" >&2
      exit 1
    fi
    ;;
  *) usage ;;
esac
