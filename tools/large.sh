#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A night of large tensors: convolutions whose tensors have more than 2^31 elements, or 2^32 bytes, in every pass, a sample of each result
# against its definition. What does not fit into the memory that is available is left out, and named. Minutes each; ends with 1 after a fault.
# large.sh [BUILD]; build/ci unless given
set -euo pipefail
cd "$(dirname "$0")/.."
cubejit=${1:-build/ci}/tools/cli/cubejit
export CUBEJIT_TUNE=off
# Gigabytes that verifying takes (operands as f32 and as they are, and the results), then the problem and the pass.
problems='
16 --input 1,2,1073741888 --weight 1,2,3 --stride 4096 --layout ncdhw --dtype bf16 --passes y,dw
16 --input 1,1,46341,46342 --weight 1,1,3,3 --stride 64 --padding 1 --layout ndhwc --dtype f16 --passes y,dw
20 --input 1,2,1073741888 --weight 1,2,1 --stride 2048 --layout ndhwc --dtype bf16 --passes dx
13 --input 3,8,512,300,300 --weight 8,1,3,3,3 --groups 8 --stride 4 --padding 1 --layout ncdhw --passes y,dw
13 --input 1100,1024,32,32 --weight 16,1024,1,1 --stride 16 --layout ndhwc --passes y,dw
13 --input 1,64,4200,4200 --weight 2,64,4,4 --stride 8 --layout ndc1hwc16 --passes y,dw
20 --input 1,64,4200,4200 --weight 2,64,4,4 --stride 8 --layout ndhwc --passes dx
20 --input 1,16,512,640 --weight 16,24,2,2 --stride 16 --transposed --output-padding 15 --layout ndhwc --dtype bf16 --passes y
40 --input 1,1,1291,1291,1291 --weight 1,1,3,3,3 --padding 1 --layout ncdhw --dtype bf16 --passes y,dx,dw,db
40 --input 1,16,1073741888 --weight 16,1,31 --groups 16 --stride 128 --padding 15 --layout ndhwc --dtype bf16 --passes y,dw
'
verified=0 faults=0 left_out=0
while read -r need problem; do
  [[ -z $need ]] && continue
  available=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
  if ((available < need)); then
    echo "left out, $need GB are needed and $available available: $problem"
    left_out=$((left_out + 1))
    continue
  fi
  echo "verify $problem"
  begin=$SECONDS
  # shellcheck disable=SC2086
  if "$cubejit" verify $problem --max-macs 2e8 --max-elements 5000000000; then verified=$((verified + 1)); else faults=$((faults + 1)); fi
  echo "  $((SECONDS - begin)) s"
done <<<"$problems"
echo "$verified verified, $faults failed, $left_out left out for want of memory"
((faults == 0 && verified > 0))
