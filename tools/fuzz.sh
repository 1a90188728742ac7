#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lets fuzz targets (tests/fuzz; default: all) look for inputs that end them, under AddressSanitizer and UBSan:
#   tools/fuzz.sh [TARGET...] [--seconds N] [--jobs N]
# Each runs for so many seconds (default 20), from its corpus and what earlier runs kept in build/fuzz/kept. An input that ends one is left
# in build/fuzz/findings; copied to tests/fuzz/corpus/TARGET it is a test.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=20 jobs=$(nproc) targets=()
while (($#)); do
  case $1 in
    --seconds) seconds=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    -*) echo "fuzz.sh: unknown flag $1; there are --seconds N, --jobs N" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
if ((${#targets[@]} == 0)); then
  for corpus in tests/fuzz/corpus/*/; do targets+=("$(basename "$corpus")"); done
fi

tools/setup.sh build fuzz
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --parallel "$jobs" --target "${targets[@]/#/fuzz_}"

export UBSAN_OPTIONS=print_stacktrace=1 CUBEJIT_TUNE=off
run() {
  local target=$1 kept=build/fuzz/kept/$1 findings=build/fuzz/findings/$1
  mkdir -p "$kept" "$findings"
  # An input that takes a minute, or 4 GB, is a finding as well.
  if build/fuzz/tests/fuzz/fuzz_"$target" -max_total_time="$2" -timeout=60 -rss_limit_mb=4096 -max_len=16384 -print_final_stats=1 -print_funcs=0 \
    -artifact_prefix="$findings/" "$kept" tests/fuzz/corpus/"$target" >"$findings/log" 2>&1; then
    echo "fuzz $target: $(sed -n 's/^stat::number_of_executed_units: //p' "$findings/log") inputs, ok"
  else
    grep -vE '^#[0-9]+\s+(NEW|REDUCE|pulse|RELOAD)' "$findings/log" | tail -40 >&2
    echo "fuzz $target: FAILED, see $findings" >&2
    return 1
  fi
}
export -f run
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'run "$@"' run {} "$seconds"
