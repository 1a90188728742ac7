#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The checks of .clang-tidy over the modules, faces and the Python binding, with the flags of a configured build folder: tidy.sh [BUILD_DIR]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/ci}
if [[ ! -f $build/compile_commands.json ]]; then
  echo "tidy.sh: $build is not configured; run: cmake --preset ci" >&2
  exit 2
fi
find algorithms tiling codegen emulation runtime api python -name '*.cpp' -print0 |
  xargs -0 -n 2 -P "$(nproc)" clang-tidy-19 --quiet -p "$build" --warnings-as-errors='*' \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations 2>/dev/null
