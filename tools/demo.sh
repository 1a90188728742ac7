#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, builds a release and runs the main job on real layers: every pass, forward and backward, of ResNet-50 and
# 3D U-Net is planned, generated, checked against the fp64 reference and timed, beside the machine's measured peak.
# CUBEJIT_DEMO_SUITES names other files of bench/shapes/.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh build
cmake --preset release
cmake --build --preset release

cubejit=build/release/tools/cli/cubejit
read -r -a suites <<<"${CUBEJIT_DEMO_SUITES:-resnet50 unet3d}"
echo
"$cubejit" targets | sed '/^$/,$d'  # this machine, not the NPUs
failed=0
for suite in "${suites[@]}"; do
  file=bench/shapes/$suite.jsonl
  printf '\n== %s: passes checked against the fp64 reference ==\n' "$suite"
  "$cubejit" verify --suite "$file" --passes y,dx,dw,db --layout ndhwc --max-macs 5e8 --threads "$(nproc)" || failed=1
  printf '\n== %s: speed, channels last, %s threads ==\n' "$suite" "$(nproc)"
  "$cubejit" bench --suite "$file" --passes y,dx,dw,db --layout ndhwc --threads "$(nproc)" || failed=1
done
exit $failed
