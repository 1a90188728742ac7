#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# No source file is longer than 500 lines: past that it is usually two ideas.
set -euo pipefail
cd "$(dirname "$0")/../.."
budget=500
broken=0
while IFS= read -r file; do
  lines=$(wc -l <"$file")
  if ((lines > budget)); then
    echo "$file: $lines lines, budget $budget" >&2
    broken=1
  fi
done < <(find include base algorithms tiling codegen emulation runtime api python tools bench examples tests cmake -type f \
  \( -name '*.h' -o -name '*.hpp' -o -name '*.cpp' -o -name '*.c' -o -name '*.def' -o -name '*.py' -o -name '*.sh' \))
exit $broken
