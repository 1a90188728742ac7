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
  if grep -rnE "$1" include algorithms tiling codegen emulation runtime api python tools/cli bench examples --include='*.h' --include='*.hpp' \
    --include='*.cpp' --include='*.c' | grep -vE "^($2)"; then
    echo "layers: $3" >&2
    broken=1
  fi
}

only include 'cubejit/'
only examples 'cubejit/|cubejit_tbe/|cubejit_ascendc/launch\.h|tiling/(conv_backprop|platform)/|lib/conv_backprop/|kernel_operator\.h|acl/|aclnnop/|(digits|layer|gradient|convolution|input_gradient_kernel)\.h'
# An algorithm is a room: it knows the kit and itself. Only lowerings know codegen/.
rooms=$(cd algorithms && find . -mindepth 1 -maxdepth 1 -type d ! -name kit -printf '%f\n')
for room in kit $rooms; do
  own="algorithms/kit/|algorithms/(algorithm|table)\\.h|algorithms/$room/"
  # A chip's tasks and instructions are the planner's, the emulator's and the lowering's.
  if [[ $room == cube ]]; then own="$own|algorithms/lower(_task)?\\.h|tiling/npu/"; fi
  only "algorithms/$room" "cubejit/|codegen/|tiling/(rounding|work_limit)\.h|$own"
  if grep -rnE '#include "(codegen/|algorithms/[a-z_]+/lower/)' "algorithms/$room" | grep -v "^algorithms/$room/lower/"; then
    echo "layers: only algorithms/$room/lower/ may include codegen/ and lowerings" >&2
    broken=1
  fi
done
# Nobody else knows a room: its name stands in its folder, its tests and the table.
for room in $rooms; do
  if grep -rnE "algorithms/$room/" include algorithms tiling codegen emulation runtime api python tools bench examples tests cmake \
    --include='*.h' --include='*.hpp' --include='*.cpp' --include='*.txt' --include='*.cmake' |
    grep -vE "^(algorithms|tests/algorithms)/$room/"; then
    echo "layers: algorithms/$room/ is known outside its folder and its tests" >&2
    broken=1
  fi
done
# The plans that rooms declare are theirs, too.
for plan in $(sed -nE 's/^struct ([A-Za-z]+Plan) \{/\1/p' algorithms/*/plan.h); do
  room=$(dirname "$(grep -lE "^struct $plan \{" algorithms/*/plan.h)")
  if grep -rnwE "$plan" include algorithms tiling codegen emulation runtime api python tools bench tests \
    --include='*.h' --include='*.hpp' --include='*.cpp' | grep -vE "^(tests/)?$room/"; then
    echo "layers: $plan is known outside $room/ and its tests" >&2
    broken=1
  fi
done
only tiling 'cubejit/|tiling/|algorithms/(algorithm\.h|kit/[a-z_]+\.h)'
only codegen 'cubejit/(result|kernel_args|host_isa|post_ops|problem|dtype|float16|microkernel_registers)\.h|codegen/'
# The kernel generator stands on its own: it names no convolution.
if grep -rnwE 'Problem|TensorId|TilingPlan|PassMask|IndexMap|Machine|convolution|dy|dx' codegen --include='*.h' --include='*.cpp'; then
  echo "layers: codegen/ knows no convolution, nor what plans one" >&2
  broken=1
fi
only emulation 'cubejit/|tiling/npu/|tiling/(rounding|coordinates)\.h|codegen/tile/|emulation/'
only runtime 'cubejit/|tiling/|algorithms/(algorithm|lower|lower_task|kit/[a-z_]+|kit/lower/(convert|eltwise_backward|forward_names|tensor_binding))\.h|codegen/|emulation/|runtime/'
only api/ascendc 'cubejit/|cubejit_ascendc/|lib/conv_backprop/|kernel_operator\.h|api/ascendc/|tiling/|algorithms/lower_task\.h|runtime/(last_error|core_barrier|core_threads|environment|kernel_core|json_machine|tuning/plan_source)\.h'
only api/tbe 'cubejit/|cubejit_tbe/|api/tbe/|tiling/|runtime/last_error\.h'
only api/acl 'cubejit/|cubejit_acl/|acl/|aclnn/|aclnnop/|opdev/|api/acl/'
only tools/cli 'cubejit/|[a-z_]+\.h"|runtime/|algorithms/(algorithm|lower)\.h|codegen/(backend|vectorize|disassemble|code)\.h|codegen/(tile|vector)/|tiling/|cubejit_ascendc/'
only bench 'cubejit/|acl/|aclnnop/|algorithms/|codegen/|runtime/|bench/|tests/support/'
only python 'cubejit/|cubejit_tbe/|python/'
nowhere_but '#include [<"]xbyak' 'codegen/xbyak_backend/' 'xbyak belongs in codegen/xbyak_backend/'
nowhere_but '#include [<"](llvm|llvm-c)/' 'codegen/disassemble\.cpp|codegen/binary/|codegen/llvm_backend/|runtime/orc/' \
  'LLVM belongs in codegen/llvm_backend/, codegen/binary/, runtime/orc/ and codegen/disassemble.cpp'
nowhere_but '#include [<"]nlohmann' 'runtime/json|runtime/dump/(page|meta|chip)\.cpp|tools/cli/|bench/' 'JSON belongs in runtime/json*.cpp, what dumps write of it, and the command'
nowhere_but '#include [<"]sqlite3' 'runtime/tuning/' 'SQLite belongs in runtime/tuning/'
nowhere_but '#include [<"]mpi' 'tools/cli/tune_mpi\.cpp|examples/data_parallel\.cpp' 'MPI belongs in tune_mpi.cpp and its example'
nowhere_but '#include [<"](tbb|oneapi/tbb)/' 'runtime/' 'threads belong in runtime/'
nowhere_but '#include <(pybind11|dlpack)/' 'python/' 'pybind11 and DLPack belong in python/'
nowhere_but '#include <(torch|ATen|c10)/' 'python/torch_kernels/' 'PyTorch belongs in python/torch_kernels/'
nowhere_but '#include <(thread|mutex|fstream|sys/.*|unistd\.h|sched\.h|cpuid\.h|iostream)>' 'runtime/|python/(torch_kernels/table\.h|core/workspace\.cpp)|tools/|bench/|examples/|api/ascendc/include/tiling/platform/|api/ascendc/kernel/gm_memory\.cpp|api/acl/(registry|executor|stream|memory|parts|prepare|phase_one)\.(h|cpp)' \
  'threads, files, memory maps and CPU detection belong in runtime/'
nowhere_but '\b(getenv|secure_getenv)\(' 'runtime/environment\.cpp|api/acl/options\.cpp|python/torch_kernels/library\.cpp|tools/cli/' \
  'the environment is read in runtime/environment.cpp, api/acl/options.cpp and, of a libtorch process, python/torch_kernels/library.cpp'
exit $broken
