// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order: the longest program first, so that no thread is left with it at the end.
#include "runtime/loader/emit_kernels.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <utility>

#include "cubejit/cubejit.hpp"
#include "runtime/host/threads.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

struct Work {
  const std::vector<VectorProgram>& programs;
  const CodeBackend& backend;
  std::vector<std::size_t> order;
  std::vector<std::optional<Result<Code>>> made;
  std::atomic<std::size_t> next{0};
};

void emitOnSlot(void* context, int) {
  Work& work = *static_cast<Work*>(context);
  for (std::size_t i; (i = work.next.fetch_add(1)) < work.order.size();) {
    const std::size_t k = work.order[i];
    work.made[k] = withoutThrowing(Stage::kEmit, [&] { return work.backend.emit(work.programs[k]); });
  }
}

}  // namespace

Result<std::vector<Code>> emitKernels(const std::vector<VectorProgram>& programs, const CodeBackend& backend,
                                      const Options& options) {
  std::vector<Code> codes;
  if (backend.emit == nullptr) return codes;
  Work work{programs, backend, std::vector<std::size_t>(programs.size()), {}, {}};
  work.made.resize(programs.size());
  std::iota(work.order.begin(), work.order.end(), std::size_t{0});
  std::stable_sort(work.order.begin(), work.order.end(),
                   [&](std::size_t x, std::size_t y) { return programs[x].code.size() > programs[y].code.size(); });
  const int slots = backend.slow ? std::min(threadsOf(options), static_cast<int>(programs.size())) : 1;
  if (slots > 1)
    runSlots(options.parallelFor, false, slots, emitOnSlot, &work);
  else
    emitOnSlot(&work, 0);
  for (std::optional<Result<Code>>& made : work.made) {
    CUBEJIT_TRY(code, std::move(*made));
    codes.push_back(std::move(code));
  }
  return codes;
}

}  // namespace cubejit
