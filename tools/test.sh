#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, builds a preset, runs its tests and closes with the sum over all test cases:
#   tools/test.sh [PRESET [MODULE...]]   (default: dev, all tests; a module is a folder of tests/ with a program of its own, or python)
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-dev} modules=("${@:2}")

case $preset in
  asan | tsan | coverage) tools/setup.sh build test fuzz ;;
  *) tools/setup.sh build mpi python test ;;
esac
cmake --preset "$preset"
targets=() chosen=()
if ((${#modules[@]})); then
  targets=(--target "${modules[@]/%/_tests}")
  chosen=(--tests-regex "^($(IFS='|'; echo "${modules[*]}"))(_.*_test)?\$")
fi
cmake --build --preset "$preset" "${targets[@]}"

results=$PWD/build/$preset/test-results
rm -rf "$results"
mkdir -p "$results"
status=0
GTEST_OUTPUT="xml:$results/" ctest --preset "$preset" "${chosen[@]}" --output-junit "$results/ctest.xml" || status=$?

# A GoogleTest program counts by its cases; a program that left no report (an example, or one that crashed) counts as one.
passed=0 failed=0 skipped=0
while read -r name outcome; do
  report=$results/${name}_tests.xml
  if [[ -f $report ]]; then
    root=$(grep -m1 '<testsuites' "$report")
    count() { sed -E "s/.* $1=\"([0-9]+)\".*/\1/" <<<"$root"; }
    bad=$(($(count failures) + $(count errors)))
    missed=$(grep -c 'result="skipped"' "$report" || true)
    passed=$((passed + $(count tests) - $(count disabled) - bad - missed))
    failed=$((failed + bad)) skipped=$((skipped + missed + $(count disabled)))
    if [[ $outcome != run && $bad -eq 0 ]]; then failed=$((failed + 1)); fi
  else
    case $outcome in
      run) passed=$((passed + 1)) ;;
      disabled | notrun) skipped=$((skipped + 1)) ;;
      *) failed=$((failed + 1)) ;;
    esac
  fi
done < <(sed -nE 's/.*<testcase name="([^"]*)".* status="([^"]*)".*/\1 \2/p' "$results/ctest.xml")

echo
echo "$passed passed, $failed failed, $skipped skipped"
((status == 0 && failed == 0 && passed > 0))
