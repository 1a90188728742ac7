#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compares LLVM's code with xbyak's, bit by bit, on random problems: so many for each ISA level of this CPU and each type, in runs
# of a seed of their own. Prints a line a run and the sum. agree.sh [PROBLEMS A LEVEL AND TYPE [PROBLEMS A RUN]]
set -euo pipefail
problems=${1:-420} run=${2:-70}
cubejit=${CUBEJIT:-$(dirname "$0")/../build/bench/tools/cli/cubejit}
passed=0 seed=1
for isa in avx2 avx512 avx512_bf16; do
  for dtype in f32 f16 bf16 any; do
    for ((done = 0; done < problems; done += run, ++seed)); do
      said=$("$cubejit" verify --fuzz "$run" --seed "$seed" --isa "$isa" --dtype "$dtype" --backend llvm --agree xbyak)
      said=$(tail -n 1 <<<"$said")
      echo "$isa $dtype seed $seed: $said"
      passed=$((passed + ${said%% *}))
    done
  done
done
echo "$passed problems agree"
