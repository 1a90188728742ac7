#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The checks of .clang-tidy over the modules, faces and the Python binding, each file by itself, whatever a build joins: tidy.sh [PART].
# PART: changed: what the last commits changed, unless that is more than 100 files, which wait for the parts; 0 or 1: every other file as
# well. The kernels for PyTorch are left out where they are not built, for want of PyTorch's headers.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/tidy
cmake --preset ci -B $build -DCMAKE_UNITY_BUILD=OFF >/dev/null
files() {
  local folders=(base algorithms tiling codegen emulation runtime api python)
  if [[ -z ${1:-} ]]; then
    find "${folders[@]}" -name '*.cpp' -print0
    return
  fi
  local changed
  changed=$(git diff --name-only --diff-filter=d HEAD~8 -- "${folders[@]}" 2>/dev/null | grep '\.cpp$' || true)
  if (($(wc -l <<<"$changed") > 100)); then changed=; fi
  {
    find "${folders[@]}" -name '*.cpp' | sort | awk -v part="$1" 'part != "changed" && NR % 2 == part'
    echo "$changed"
  } | sed '/^$/d' | sort -u | tr '\n' '\0'
}
unbuilt='^$'
grep -q '/python/torch_kernels/' "$build/compile_commands.json" || unbuilt='^python/torch_kernels/'
files "$@" | { grep -zv "$unbuilt" || true; } | xargs -r -0 -n 2 -P "$(nproc)" clang-tidy-19 --quiet -p "$build" --warnings-as-errors='*' \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations 2>/dev/null
