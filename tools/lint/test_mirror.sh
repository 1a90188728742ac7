#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# tests/ mirrors the tree by folder: for every folder with .cpp files, a *_test.cpp in the folder of the same name under tests/ (where
# there is none, in the nearest one above it, down to the module's) includes a header of that folder. Headers of a folder are those in
# it, and the faces it implements: public headers, and headers of folders above it, that a .cpp of it includes first.
set -euo pipefail
cd "$(dirname "$0")/../.."
modules=(base algorithms tiling codegen emulation runtime api)

# headers FOLDER: as include lines spell them.
headers() {
  find "$1" -maxdepth 1 -name '*.h' -printf '#include "%p"\n'
  local first
  for first in $(awk -F'"' '/^#include "/ { print $2; nextfile }' "$1"/*.cpp); do
    if [[ ! -f $first || $1 == "${first%/*}"/* ]]; then echo "#include \"$first\""; fi
  done
}
# mirror FOLDER: the nearest folder under tests/ that stands for it.
mirror() {
  local folder=$1
  while [[ $folder == */* && ! -d tests/$folder ]]; do folder=${folder%/*}; done
  echo "tests/$folder"
}

folders=0 broken=0
while IFS= read -r folder; do
  folders=$((folders + 1))
  tests=$(mirror "$folder")
  if [[ -z $(find "$tests" -maxdepth 1 -name '*_test.cpp' -exec grep -hxFf <(headers "$folder") {} +) ]]; then
    echo "$folder: no test in $tests/ includes a header of it" >&2
    broken=1
  fi
done < <(find "${modules[@]}" -name '*.cpp' -printf '%h\n' | sort -u)
if ((folders == 0)); then echo "test_mirror: no folder was found" >&2; fi
exit $((broken || folders == 0))
