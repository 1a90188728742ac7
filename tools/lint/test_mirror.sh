#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every .cpp of a module is reached by a test: some file under tests/ includes its own header or, for a file that is one
# room behind a door (a lowering, a tile instruction, a family of candidates), the header of that door.
set -euo pipefail
cd "$(dirname "$0")/../.."
door() {
  case $1 in
    codegen/lower/*) echo codegen/lower.h ;;
    codegen/units/*) echo codegen/vectorize.h ;;
    codegen/tile/*_rules.cpp) echo codegen/tile/rules.h ;;
    codegen/tile/print_kernel.cpp) echo codegen/tile/print.h ;;
    codegen/xbyak_backend/*) echo codegen/backend.h ;;
    tiling/check_problem.cpp) ;;
    tiling/result.cpp) echo cubejit/result.h ;;
    tiling/*) echo tiling/planner.h ;;
    runtime/verify/*) echo runtime/verify/verify_problem.h ;;
    runtime/compile.cpp) echo cubejit/cubejit.hpp ;;
    runtime/*) if [[ ! -f ${1%.cpp}.h ]]; then echo cubejit/cubejit.hpp; fi ;;
  esac
}
broken=0
while IFS= read -r source; do
  for header in "${source%.cpp}.h" $(door "$source"); do
    if grep -rqF "#include \"$header\"" tests; then continue 2; fi
  done
  echo "$source: no test includes \"${source%.cpp}.h\" or the header of its door" >&2
  broken=1
done < <(find tiling codegen runtime -name '*.cpp' | sort)
exit $broken
