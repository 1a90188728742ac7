#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs every check of this folder, also after one failed: all.sh [BUILD_DIR [PART]], as tidy.sh has them
set -uo pipefail
cd "$(dirname "$0")"
failed=()
for check in layers file_budget test_mirror odr docs format tidy; do
  arguments=()
  if [[ $check == tidy ]]; then arguments=("${1:-build/ci}" ${2:+"$2"}); fi
  if ./$check.sh "${arguments[@]}"; then echo "lint $check: ok"; else failed+=("$check"); fi
done
if ((${#failed[@]})); then
  echo "lint failed: ${failed[*]}" >&2
  exit 1
fi
