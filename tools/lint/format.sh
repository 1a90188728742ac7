#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sources look as .clang-format says. With --fix they are rewritten; without, every deviation is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=(--dry-run --Werror)
if [[ ${1:-} == --fix ]]; then mode=(-i); fi
find include base algorithms tiling codegen emulation runtime api python tools bench examples tests -type f \
  \( -name '*.h' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.c' \) -print0 |
  xargs -0 -n 16 -P "$(nproc)" clang-format-19 --style=file "${mode[@]}"
