#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The include table: which folder may include what. Prints every line that breaks it.
set -euo pipefail
cd "$(dirname "$0")/../.."
broken=0

# only FOLDER PATTERN: quoted includes of FOLDER must start with PATTERN.
only() {
  if grep -rnE '^#include "' "$1" --include='*.h' --include='*.hpp' --include='*.cpp' --include='*.c' |
    grep -vE "#include \"($2)"; then
    echo "layers: $1 may include only: ${2//|/ }" >&2
    broken=1
  fi
}
# nowhere_but PATTERN ALLOWED WHY: lines that match PATTERN may stand only in files that match ALLOWED.
nowhere_but() {
  if grep -rnE "$1" include base algorithms tiling codegen emulation runtime api python tools/cli bench examples --include='*.h' --include='*.hpp' \
    --include='*.cpp' --include='*.c' | grep -vE "^($2)"; then
    echo "layers: $3" >&2
    broken=1
  fi
}

only include 'cubejit/'
only base 'cubejit/result\.h'
only examples 'cubejit/|cubejit_tbe/|cubejit_ascendc/launch\.h|tiling/(conv_backprop|platform)/|lib/conv_backprop/|kernel_operator\.h|acl/|aclnnop/|(digits|layer|gradient|convolution|input_gradient_kernel)\.h'
# An algorithm is a room: it knows the kit and itself. Only lowerings know codegen/.
rooms=$(cd algorithms && find . -mindepth 1 -maxdepth 1 -type d ! -name kit ! -name transforms -printf '%f\n')
for room in kit $rooms; do
  own="algorithms/kit/|algorithms/(algorithm|table)\\.h|algorithms/$room/"
  # The table has no row for chips: the room implements the faces of planning (npu.h, planner.h) and of lowering itself.
  if [[ $room == cube ]]; then own="$own|algorithms/lower(_task)?\\.h|tiling/(planner|check_problem|no_throw|rule_lines|coordinates)\.h"; fi
  only "algorithms/$room" "cubejit/|codegen/|tiling/(rounding|work_limit)\.h|$own"
  if grep -rnE '#include "(codegen/|algorithms/[a-z_]+/lower/)' "algorithms/$room" | grep -v "^algorithms/$room/lower/"; then
    echo "layers: only algorithms/$room/lower/ may include codegen/ and lowerings" >&2
    broken=1
  fi
done
# Nobody else knows a room: its name stands in its folder, its tests and the table.
for room in $rooms; do
  # But the chips': what imitates their cores, and Ascend's faces, follow a task through the buffers as its plan says.
  known="(algorithms|tests/algorithms)/$room/"
  if [[ $room == cube ]]; then known="$known|algorithms/lower(_task)?\\.h|include/cubejit/plan\\.h|tiling/|(tests/)?(emulation|runtime|api/ascendc|support/unit_models)/|algorithms/CMakeLists\\.txt"; fi
  if grep -rnE "algorithms/$room/" include base algorithms tiling codegen emulation runtime api python tools bench examples tests cmake \
    --include='*.h' --include='*.hpp' --include='*.cpp' --include='*.txt' --include='*.cmake' |
    grep -vE "^($known)"; then
    echo "layers: algorithms/$room/ is known outside its folder and its tests" >&2
    broken=1
  fi
done
# The plans that rooms declare are theirs, too; a chip's is what its tools and faces speak of.
for plan in $(sed -nE 's/^struct ([A-Za-z]+Plan) \{/\1/p' algorithms/*/plan.h | grep -v '^CubePlan$'); do
  room=$(dirname "$(grep -lE "^struct $plan \{" algorithms/*/plan.h)")
  if grep -rnwE "$plan" include base algorithms tiling codegen emulation runtime api python tools bench tests \
    --include='*.h' --include='*.hpp' --include='*.cpp' | grep -vE "^(tests/)?$room/"; then
    echo "layers: $plan is known outside $room/ and its tests" >&2
    broken=1
  fi
done
# What is done to a program is done to any room's.
only algorithms/transforms 'cubejit/|codegen/|tiling/rounding\.h|algorithms/(kit|transforms)/'
only tiling 'cubejit/|tiling/|algorithms/(algorithm|kit/[a-z_]+|cube/[a-z_]+)\.h'
only codegen 'cubejit/(result|kernel_args|host_isa|matrix_unit|post_ops|dtype|float16|microkernel_registers)\.h|codegen/'
# The kernel generator stands on its own: it names no convolution, and no chip.
if grep -rnwE 'Problem|TensorId|TilingPlan|PassMask|IndexMap|Machine|convolution|dy|dx|Ascend|NPU|MTE[0-9]|L0[ABC]|fixpipe|cube|chips?' codegen --include='*.h' --include='*.cpp'; then
  echo "layers: codegen/ knows no convolution, nor what plans one, nor a chip" >&2
  broken=1
fi
only emulation 'cubejit/|algorithms/cube/|tiling/(rounding|coordinates|rule_lines)\.h|codegen/tile/|emulation/'
others='cubejit/|tiling/|algorithms/(algorithm|lower|lower_task|kit/[a-z_]+|cube/[a-z_]+|transforms/[a-z_]+|kit/lower/tensor_binding)\.h|codegen/|emulation/'
# The rooms of runtime/, from the lowest: each may include itself and those before it.
below=
for room in host text exec loader chip pipeline verify tuning explore dump diagnose cores face; do
  below="$below${below:+|}$room"
  only "runtime/$room" "$others|runtime/($below)/"
done
if ls runtime/*.cpp runtime/*.h 2>/dev/null; then
  echo "layers: files of runtime/ stand in its rooms" >&2
  broken=1
fi
only api/ascendc 'cubejit/|cubejit_ascendc/|lib/conv_backprop/|kernel_operator\.h|api/ascendc/|tiling/|algorithms/(lower_task|cube/[a-z_]+)\.h|runtime/(cores/[a-z_]+|face/(last_error|environment)|text/json_machine|tuning/plan_source)\.h'
only api/tbe 'cubejit/|cubejit_tbe/|api/tbe/|tiling/|runtime/face/last_error\.h'
only api/acl 'cubejit/|cubejit_acl/|acl/|aclnn/|aclnnop/|opdev/|api/acl/'
only tools/cli 'cubejit/|[a-z_]+\.h"|runtime/|algorithms/(algorithm|lower)\.h|codegen/(backend|vectorize|disassemble|code)\.h|codegen/(lang|tile|vector)/|tiling/|cubejit_ascendc/'
only bench 'cubejit/|acl/|aclnnop/|algorithms/|codegen/|runtime/|bench/|tests/support/'
only python 'cubejit/|cubejit_tbe/|python/'
nowhere_but '#include [<"]xbyak' 'codegen/xbyak_backend/' 'xbyak belongs in codegen/xbyak_backend/'
nowhere_but '#include [<"](llvm|llvm-c)/' 'codegen/disassemble\.cpp|codegen/binary/|codegen/llvm_backend/|runtime/loader/orc/' \
  'LLVM belongs in codegen/llvm_backend/, codegen/binary/, runtime/loader/orc/ and codegen/disassemble.cpp'
nowhere_but '#include [<"]nlohmann' 'runtime/(text|tuning)/json|runtime/dump/(page|meta|chip)\.cpp|tools/cli/|bench/' 'JSON belongs in runtime/*/json*.cpp, what dumps write of it, and the command'
nowhere_but '#include [<"]sqlite3' 'runtime/tuning/' 'SQLite belongs in runtime/tuning/'
nowhere_but '#include [<"]mpi' 'tools/cli/tune_mpi\.cpp|examples/data_parallel\.cpp' 'MPI belongs in tune_mpi.cpp and its example'
nowhere_but '#include [<"](tbb|oneapi/tbb)/' 'runtime/' 'threads belong in runtime/'
nowhere_but '#include <(pybind11|dlpack)/' 'python/' 'pybind11 and DLPack belong in python/'
nowhere_but '#include <(torch|ATen|c10)/' 'python/torch_kernels/' 'PyTorch belongs in python/torch_kernels/'
nowhere_but '#include <(thread|mutex|fstream|sys/.*|unistd\.h|sched\.h|cpuid\.h|iostream)>' 'runtime/|python/(torch_kernels/table\.h|core/workspace\.cpp)|tools/|bench/|examples/|api/ascendc/include/tiling/platform/|api/ascendc/kernel/gm_memory\.cpp|api/acl/(registry|executor|stream|memory|parts|prepare|phase_one)\.(h|cpp)' \
  'threads, files, memory maps and CPU detection belong in runtime/'
nowhere_but '\b(getenv|secure_getenv)\(' 'runtime/face/environment\.cpp|api/acl/options\.cpp|python/torch_kernels/library\.cpp|tools/cli/' \
  'the environment is read in runtime/face/environment.cpp, api/acl/options.cpp and, of a libtorch process, python/torch_kernels/library.cpp'
exit $broken
