// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where buffers live during an interpretation; the calls are those of tile/walk.
#include "codegen/tile/interpret_program.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "codegen/tile/caller_buffers.h"
#include "codegen/tile/interpret.h"
#include "codegen/tile/moved.h"
#include "codegen/tile/segment_words.h"
#include "codegen/tile/verify.h"
#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();

// Only calls' c and d streams are written, and verify refuses those that lead to inputs.
char* bytesOf(const void* values) { return static_cast<char*>(const_cast<void*>(values)); }

class Memory {
 public:
  Memory(const TileProgram& program, const CallerBuffers& callers) : p_(program), own_(program.buffers.size()) {
    std::size_t bound = 0;
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) {
      const Buffer& b = p_.buffers[i];
      if (b.use == Buffer::Use::kConstant) {
        bases_.push_back(bytesOf(b.values.data()));
      } else if (b.isWorkspace()) {
        own_[i].assign(static_cast<std::size_t>(b.bytes + 3) / 4, kUnwritten);
        bases_.push_back(bytesOf(own_[i].data()));
      } else {
        bases_.push_back(bound < callers.size() ? static_cast<char*>(callers[bound++]) : nullptr);
        if (bases_.back() == nullptr && b.bytes > 0) missing_ += "\nbuffer " + b.name + " is missing";
      }
    }
  }

  const std::string& missing() const { return missing_; }
  std::int64_t residual() const { return residualBytes(p_.residual, bases_); }
  char* base(int buffer) const { return bases_[static_cast<std::size_t>(buffer)]; }
  void forgetPrivate() {
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) {
      if (p_.buffers[i].use == Buffer::Use::kPrivate) std::fill(own_[i].begin(), own_[i].end(), kUnwritten);
    }
  }

 private:
  const TileProgram& p_;
  std::vector<std::vector<float>> own_;
  std::vector<char*> bases_;
  std::string missing_;
};

}  // namespace

Status interpret(const TileProgram& program, const CallerBuffers& callers, const InterpretedHook& hook) {
  CUBEJIT_RETURN_IF_ERROR(verify(program));
  Memory memory(program, callers);
  if (!memory.missing().empty())
    return invalidInput("cannot interpret " + program.name + memory.missing(), Stage::kRun);
  std::vector<std::vector<std::int64_t>> lists;
  for (const SegmentList& list : program.lists) lists.push_back(segmentWords(list));

  for (const Phase& phase : program.phases) {
    std::int64_t task = -1;
    const bool whole = walkCalls(phase, [&](const CallSite& site) {
      if (site.task != task) memory.forgetPrivate();
      task = site.task;
      const auto pointer = [&](int stream, std::size_t operand) -> char* {
        return stream < 0
                   ? nullptr
                   : moved(memory.base(phase.streams[static_cast<std::size_t>(stream)].buffer), site.at[operand]);
      };
      KernelArgs args;
      args.a = pointer(site.call->a, 0);
      args.b = pointer(site.call->b, 1);
      args.c = pointer(site.call->c, 2);
      args.d = pointer(site.call->d, 3);
      if (site.variant->list >= 0) args.list = lists[static_cast<std::size_t>(site.variant->list)].data();
      args.repeat = site.repeat;
      args.aRepeat = site.repeatStep[0];
      args.bRepeat = site.repeatStep[1];
      args.cRepeat = site.repeatStep[2];
      args.dRepeat = site.repeatStep[3];
      args.accumulate = site.variant->accumulate ? 1 : 0;
      args.residual = memory.residual();
      interpret(program.kernels[static_cast<std::size_t>(site.variant->kernel)], args);
      if (!hook) return true;
      const int buffer = phase.streams[static_cast<std::size_t>(site.call->c)].buffer;
      return hook({phase, *site.call, site.task, buffer, site.at[2], memory.base(buffer)});
    });
    if (!whole) break;
  }
  return Unit{};
}

}  // namespace cubejit
