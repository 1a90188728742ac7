// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the sample, and what counts as a difference.
#include "runtime/chip/prove_elision.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/tile/interpret.h"
#include "codegen/tile/isa_rounding.h"
#include "codegen/tile/segment_words.h"
#include "codegen/tile/touch.h"
#include "codegen/tile/walk.h"
#include "codegen/vector/interpret.h"
#include "runtime/chip/chip_transforms.h"

namespace cubejit {
namespace {

constexpr std::int64_t kMostProvenTasks = 8;  // of a phase

bool stays(const Buffer& buffer) { return buffer.use == Buffer::Use::kPrivate; }

// Bits by which a word is told from others, of no NaN or infinity in any type.
std::uint32_t bitsOfWord(std::size_t buffer, std::int64_t word) {
  auto x =
      static_cast<std::uint64_t>(word) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(buffer) * 0xd1b54a32d192ed03U;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9U;
  return static_cast<std::uint32_t>(x >> 32) & 0xbfffbfffU;
}

// One way to run a program: its memory, and what runs its moves.
class Side {
 public:
  Side(const TileProgram& program, const std::vector<VectorProgram>* vectors) : p_(program), vectors_(vectors) {
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      const std::int64_t words = (p_.buffers[b].bytes + 3) / 4;
      std::vector<std::uint32_t> memory(static_cast<std::size_t>(words));
      for (std::int64_t w = 0; w < words; ++w) memory[static_cast<std::size_t>(w)] = bitsOfWord(b, w);
      memory_.push_back(std::move(memory));
    }
    for (const SegmentList& list : p_.lists) lists_.push_back(segmentWords(list));
  }

  /// Takes the calls of a task up.
  void begin(const Phase& phase, std::vector<CallSite> calls) {
    phase_ = &phase;
    calls_ = std::move(calls);
    next_ = 0;
  }
  /// Runs moves up to the next contract, which is returned; null at the task's end.
  const CallSite* runMoves() {
    for (; next_ < calls_.size(); ++next_) {
      const CallSite& site = calls_[next_];
      if (std::holds_alternative<Contract>(kernel(site))) return &calls_[next_++];
      move(site);
    }
    return nullptr;
  }
  const std::vector<CallSite>& calls() const { return calls_; }
  const Kernel& kernel(const CallSite& site) const {
    return p_.kernels[static_cast<std::size_t>(site.variant->kernel)];
  }
  const SegmentList* list(const CallSite& site) const {
    return site.variant->list < 0 ? nullptr : &p_.lists[static_cast<std::size_t>(site.variant->list)];
  }
  int buffer(const CallSite& site, std::size_t operand) const {
    const int stream = streamsOf(*site.call)[operand];
    return stream < 0 ? -1 : phase_->streams[static_cast<std::size_t>(stream)].buffer;
  }
  const char* at(int buffer, std::int64_t byte) const {
    return reinterpret_cast<const char*>(memory_[static_cast<std::size_t>(buffer)].data()) + byte;
  }

 private:
  char* pointer(const CallSite& site, std::size_t operand) {
    const int b = buffer(site, operand);
    return b < 0 ? nullptr : reinterpret_cast<char*>(memory_[static_cast<std::size_t>(b)].data()) + site.at[operand];
  }
  void move(const CallSite& site) {
    KernelArgs args;
    args.a = pointer(site, 0);
    args.c = pointer(site, 2);
    if (site.variant->list >= 0) args.list = lists_[static_cast<std::size_t>(site.variant->list)].data();
    args.repeat = site.repeat;
    args.aRepeat = site.repeatStep[0];
    args.cRepeat = site.repeatStep[2];
    const auto index = static_cast<std::size_t>(site.variant->kernel);
    if (vectors_ == nullptr)
      interpret(p_.kernels[index], args);
    else
      static_cast<void>(interpret((*vectors_)[index], args));
  }

  const TileProgram& p_;
  const std::vector<VectorProgram>* vectors_;
  std::vector<std::vector<std::uint32_t>> memory_;
  std::vector<std::vector<std::int64_t>> lists_;
  const Phase* phase_ = nullptr;
  std::vector<CallSite> calls_;
  std::size_t next_ = 0;
};

std::vector<CallSite> callsOf(const Phase& phase, std::int64_t task) {
  std::vector<CallSite> calls;
  walkCalls(phase, [&](const CallSite& site) {
    if (site.task == task) calls.push_back(site);
    return site.task <= task;
  });
  return calls;
}

// Whether what a call touches through an operand is the same on both sides; else the first byte that is not.
std::int64_t differingByte(const Side& x, const Side& y, const CallSite& site, std::size_t operand) {
  const int buffer = x.buffer(site, operand);
  std::int64_t wrong = -1;
  for (std::int64_t r = 0; buffer >= 0 && r < site.repeat && wrong < 0; ++r) {
    const std::int64_t base = site.at[operand] + r * site.repeatStep[operand];
    visitTouched(x.kernel(site), x.list(site), static_cast<CallOperand>(operand), [&](ByteRange range) {
      const auto bytes = static_cast<std::size_t>(range.end - range.begin);
      if (std::memcmp(x.at(buffer, base + range.begin), y.at(buffer, base + range.begin), bytes) != 0)
        wrong = base + range.begin;
      return wrong < 0;
    });
  }
  return wrong;
}

class Comparison {
 public:
  Comparison(const TileProgram& staged, const CompiledPass& part, const std::vector<VectorProgram>* vectors)
      : staged_(staged), part_(part), before_(staged, nullptr), after_(part.tile, vectors) {}

  /// Compares tasks of all phases; returns how many contracts.
  Result<std::int64_t> run(std::int64_t most) {
    std::int64_t compared = 0;
    for (std::size_t i = 0; i < part_.tile.phases.size(); ++i) {
      const Phase &x = staged_.phases[i], &y = part_.tile.phases[i];
      const std::int64_t tasks = taskCount(x), visited = std::min(tasks, kMostProvenTasks);
      for (std::int64_t t = 0; t < visited && (t == 0 || compared < most); ++t) {
        const std::int64_t task = t * tasks / visited;
        before_.begin(x, callsOf(x, task));
        after_.begin(y, callsOf(y, task));
        CUBEJIT_TRY(contracts, compare(x.name + ", task " + std::to_string(task)));
        compared += contracts;
      }
    }
    return compared;
  }

 private:
  Result<std::int64_t> compare(const std::string& where) {
    std::int64_t contracts = 0;
    while (true) {
      const CallSite *x = before_.runMoves(), *y = after_.runMoves();
      if ((x == nullptr) != (y == nullptr)) return differs(where + ": one of the programs has more contracts");
      if (x == nullptr) break;
      if (!(before_.kernel(*x) == after_.kernel(*y)) || x->at != y->at ||
          x->variant->accumulate != y->variant->accumulate)
        return differs(where + ", " + x->call->name + " " + std::to_string(contracts) + ": another contract");
      for (const std::size_t operand : {std::size_t{0}, std::size_t{1}}) {
        const std::int64_t byte = differingByte(before_, after_, *x, operand);
        if (byte >= 0)
          return differs(where + ", " + x->call->name + " " + std::to_string(contracts) + ", operand " +
                         (operand == 0 ? "a" : "b") + ": byte " + std::to_string(byte) + " of " +
                         part_.tile.buffers[static_cast<std::size_t>(before_.buffer(*x, operand))].name);
      }
      ++contracts;
    }
    for (const Side* side : {&before_, &after_}) {
      for (const CallSite& site : side->calls()) {
        const int buffer = side->buffer(site, 2);
        if (buffer < 0 || stays(part_.tile.buffers[static_cast<std::size_t>(buffer)])) continue;
        const std::int64_t byte = differingByte(*side, side == &before_ ? after_ : before_, site, 2);
        if (byte >= 0)
          return differs(where + ", " + site.call->name + ": byte " + std::to_string(byte) + " of " +
                         part_.tile.buffers[static_cast<std::size_t>(buffer)].name);
      }
    }
    return contracts;
  }

  Error differs(const std::string& what) const {
    return Error{ErrorCode::kInternal, Stage::kTile, "eliding copies of " + part_.tile.name + " changes " + what};
  }

  const TileProgram& staged_;
  const CompiledPass& part_;
  Side before_, after_;
};

}  // namespace

Result<std::int64_t> proveElision(const CompiledPass& part, const Machine& chip, const Options& options,
                                  std::int64_t most) {
  if (!part.lowered) return std::int64_t{0};
  CUBEJIT_TRY(staged, stagedProgram(part.problem, part.plan, chip, options));
  useIsaRounding(staged, part.isa);  // as generate() does
  CUBEJIT_TRY(tile, Comparison(staged, part, nullptr).run(most));
  CUBEJIT_TRY(vector, Comparison(staged, part, &part.vectors).run(most));
  if (part.anyValues == nullptr) return std::min(tile, vector);
  useIsaRounding(staged = *part.lowered, part.anyValues->isa);
  CUBEJIT_TRY(careful, Comparison(staged, *part.anyValues, nullptr).run(most));
  return std::min({tile, vector, careful});
}

}  // namespace cubejit
