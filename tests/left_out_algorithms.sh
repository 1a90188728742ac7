#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Algorithms can be left out: builds without some of them (build/few), and runs the tests of those that stay and the differential ones.
# Needs no LLVM and nothing that other tests need. Compiled as the ci preset compiles, so that ccache has most of it.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/few
cmake --preset ci -B "$build" -DCUBEJIT_ALGORITHMS="direct_data;direct_weights;bias" -DCUBEJIT_LLVM=OFF -DCUBEJIT_PYTHON=OFF \
  -DCUBEJIT_BENCH=OFF -DCUBEJIT_EXAMPLES=OFF -DCUBEJIT_TOOLS=OFF -DCUBEJIT_INSTALL=OFF
cmake --build "$build" --target algorithms_tests differential_tests
ctest --test-dir "$build" -R '^(algorithms|differential)$' --no-tests=error --output-on-failure
