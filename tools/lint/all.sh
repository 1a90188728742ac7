#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs every check of this folder, also after one failed: all.sh [PART], as tidy.sh has it
set -uo pipefail
cd "$(dirname "$0")"
failed=()
for check in layers file_budget test_mirror odr docs format tidy; do
  arguments=()
  if [[ $check == tidy ]]; then arguments=("$@"); fi
  if ./$check.sh "${arguments[@]}"; then echo "lint $check: ok"; else failed+=("$check"); fi
done
if ((${#failed[@]})); then
  echo "lint failed: ${failed[*]}" >&2
  exit 1
fi
