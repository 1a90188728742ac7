#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Kills a tuning run at random moments and resumes it: tuning_kills.sh [KILLS] [COMMAND]. Counts committed records that are lost
# and plans that were measured twice; both must be 0.
set -euo pipefail
kills=${1:-50}
cubejit=$(realpath "${2:-build/release/tools/cli/cubejit}")
suite=$(realpath "$(dirname "$0")/shapes/landscape.jsonl")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export CUBEJIT_DB=$folder/tune.db CUBEJIT_SYSTEM_DB='' CUBEJIT_TUNE=use
head -12 "$suite" >suite.jsonl
before='' lost=0
for ((i = 0; i < kills; ++i)); do
  "$cubejit" tune --suite suite.jsonl --passes dx,dw --trials 1000 --resume --progress none >/dev/null 2>>errors.txt &
  run=$!
  sleep "$((RANDOM % 2)).$((RANDOM % 90 + 10))"
  kill -KILL "$run" 2>/dev/null || true
  wait "$run" 2>/dev/null || true
  [[ -s tune.db ]] || continue
  # A committed record is known by all of it; winners may be corrected by a later race of their own run.
  "$cubejit" db export | sed -E 's/"won":.*//' | sort >now.txt
  if [[ -n $before ]]; then
    missing=$(comm -23 "$before" now.txt | wc -l)
    lost=$((lost + missing))
  fi
  cp now.txt before.txt
  before=before.txt
done
twice=$("$cubejit" db export | python3 -c '
import collections, json, sys
count = collections.Counter()
for line in sys.stdin:
    r = json.loads(line)
    r["plan"] = {k: v for k, v in r["plan"].items() if not k.startswith("single_shape")}
    count[json.dumps([r["problem"], r["pass"], r["plan"]])] += 1
print(sum(n - 1 for n in count.values()))')
"$cubejit" db verify
echo "$kills kills, $(wc -l <now.txt) records, $lost committed records lost, $twice plans measured twice"
((lost == 0 && twice == 0))
