#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Algorithms can be left out: builds without some of them (build/few), and runs the tests of those that stay and the differential ones.
# Needs no LLVM, nothing that other tests need, and no time for optimising.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/few
cmake -S . -B "$build" -G Ninja -DCUBEJIT_ALGORITHMS="direct_data;direct_weights;bias" -DCUBEJIT_TESTS=ON \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DCUBEJIT_LLVM=OFF -DCUBEJIT_PYTHON=OFF -DCUBEJIT_BENCH=OFF \
  -DCUBEJIT_EXAMPLES=OFF -DCUBEJIT_TOOLS=OFF
cmake --build "$build" --target algorithms_tests differential_tests
ctest --test-dir "$build" -R '^(algorithms|differential)$' --no-tests=error --output-on-failure
