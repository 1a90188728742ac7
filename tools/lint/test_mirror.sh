#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every .cpp of a module is reached by a test: some file under tests/ includes its own header or, for the files listed one by
# one in test_mirror.txt, the header through which it is reached. Rows that are not needed any more are errors, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
table=tools/lint/test_mirror.txt
broken=0
tested() { grep -rqF "#include \"$1\"" tests; }

while IFS= read -r source; do
  door=$(awk -v file="$source" '$1 == file { print $2 }' "$table")
  if tested "${source%.cpp}.h"; then
    if [[ -n $door ]]; then
      echo "$table: $source is tested by its own header, drop the row" >&2
      broken=1
    fi
  elif [[ -z $door ]] || ! tested "$door"; then
    echo "$source: no test includes ${door:-${source%.cpp}.h}" >&2
    broken=1
  fi
done < <(find algorithms tiling codegen emulation runtime api -name '*.cpp' | sort)

while read -r source _; do
  if [[ ! -f $source ]]; then
    echo "$table: $source does not exist" >&2
    broken=1
  fi
done < <(grep -v '^#' "$table")
exit $broken
