#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A night of the oracle: every degenerate problem with every option, then random problems of the Python package and the command against the
# definition (tests/oracle/definition.py). Prints the seed, each fault with the line that repeats it, and the sum.
# oracle.sh [PROBLEMS [SEED [BUILD]]]; a seed of the day and build/ci unless given
set -euo pipefail
cd "$(dirname "$0")/.."
problems=${1:-50000} seed=${2:-$(date +%Y%m%d)} build=${3:-build/ci}
export CUBEJIT_TUNE=off CUBEJIT=$PWD/$build/tools/cli/cubejit PYTHONPATH=$PWD/$build/python_packages
exec "${PYTHON:-/usr/bin/python3}" -B tests/oracle/run.py --problems "$problems" --seed "$seed"
