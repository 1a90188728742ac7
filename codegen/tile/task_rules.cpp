// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether the tasks of a phase are independent: a first walk notes which task writes each word, a second one looks for
// tasks that touch a word of another.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "codegen/tile/matrix.h"
#include "codegen/tile/rules.h"
#include "codegen/tile/touch.h"
#include "codegen/tile/walk.h"

namespace cubejit {
namespace {

// Bytes that are owned together: the smallest element that a kernel writes, of two bytes where nothing is smaller.
std::int64_t grainOf(const TileProgram& program) {
  const auto written = overloaded{[](const Contract& k) { return elementBytes(k.result); },
                                  [](const TileProduct&) { return std::int64_t{4}; },
                                  [](const MatrixKernel auto& k) { return targetOf(k).element; }};
  return std::any_of(program.kernels.begin(), program.kernels.end(),
                     [&](const Kernel& k) { return std::visit(written, k) == 1; })
             ? 1
             : 2;
}

// A phase beyond these is not judged: about a second of checking, and as much memory as the buffers it writes.
constexpr std::int64_t kMostCheckedCalls = 200'000, kMostWords = 100'000'000, kMostBytes = std::int64_t{1} << 28;
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

class Tasks {
 public:
  Tasks(const TileProgram& program, const Phase& phase) : p_(program), phase_(phase), grain_(grainOf(program)) {}

  void run(std::vector<std::string>& rules) {
    if (taskCount(phase_) <= 1) return;
    std::int64_t calls = 0;
    if (!walkCalls(phase_, [&](const CallSite&) { return ++calls <= kMostCheckedCalls; })) return;
    const bool followed =
        walkCalls(phase_,
                  [&](const CallSite& site) {
                    const auto writes = [&](std::uint32_t& owner, std::int64_t word) { claim(site, owner, word); };
                    return eachWord(site, CallOperand::kC, writes) &&
                           (readsDAt(site) || eachWord(site, CallOperand::kD, writes));
                  }) &&
        walkCalls(phase_, [&](const CallSite& site) {
          const auto reads = [&](std::uint32_t& owner, std::int64_t word) {
            if (owner != kNobody && owner != static_cast<std::uint32_t>(site.task)) collide(site, "reads", owner, word);
          };
          return eachWord(site, CallOperand::kA, reads) && eachWord(site, CallOperand::kB, reads) &&
                 (!readsDAt(site) || eachWord(site, CallOperand::kD, reads));
        });
    if (followed || !broken_.empty()) rules.insert(rules.end(), broken_.begin(), broken_.end());
  }

 private:
  bool readsDAt(const CallSite& site) const {
    return readsD(p_.kernels[static_cast<std::size_t>(site.variant->kernel)]);
  }

  void claim(const CallSite& site, std::uint32_t& owner, std::int64_t word) {
    if (owner == kNobody)
      owner = static_cast<std::uint32_t>(site.task);
    else if (owner != static_cast<std::uint32_t>(site.task))
      collide(site, "writes", owner, word);
  }

  // One example for each call is enough.
  void collide(const CallSite& site, const char* does, std::uint32_t owner, std::int64_t word) {
    if (!said_.insert({site.call, does}).second) return;
    broken_.push_back("phase " + phase_.name + ": task " + std::to_string(site.task) + " (call " + site.call->name +
                      ") " + does + " byte " + std::to_string(word * grain_) + " of " + at_ + ", which task " +
                      std::to_string(owner) + " writes");
  }

  // Applies `use` to the owner of every word the call touches; false if that is more than can be followed.
  template <class Use>
  bool eachWord(const CallSite& site, CallOperand operand, Use use) {
    const auto s = static_cast<std::size_t>(operand);
    const int stream = streamsOf(*site.call)[s];
    if (stream < 0) return true;
    const int index = phase_.streams[static_cast<std::size_t>(stream)].buffer;
    const Buffer& buffer = p_.buffers[static_cast<std::size_t>(index)];
    if (buffer.use == Buffer::Use::kPrivate) return true;  // every thread has its own
    auto owners = owners_.find(index);
    if (owners == owners_.end()) {
      const bool written = operand == CallOperand::kC || (operand == CallOperand::kD && !readsDAt(site));
      if (!written) return true;  // nobody writes it
      if (buffer.bytes > kMostBytes) return false;
      owners =
          owners_
              .emplace(index, std::vector<std::uint32_t>(static_cast<std::size_t>(buffer.bytes / grain_ + 1), kNobody))
              .first;
    }
    at_ = buffer.name;
    const Variant& v = *site.variant;
    const SegmentList* list = v.list < 0 ? nullptr : &p_.lists[static_cast<std::size_t>(v.list)];
    return visitTouched(p_.kernels[static_cast<std::size_t>(v.kernel)], list, operand, [&](ByteRange r) {
      for (std::int64_t rep = 0; rep < site.repeat; ++rep) {
        const std::int64_t from = site.at[s] + rep * site.repeatStep[s];
        for (std::int64_t word = (from + r.begin) / grain_; word < (from + r.end + grain_ - 1) / grain_; ++word) {
          if (++words_ > kMostWords) return false;
          use(owners->second[static_cast<std::size_t>(word)], word);
        }
      }
      return true;
    });
  }

  const TileProgram& p_;
  const Phase& phase_;
  const std::int64_t grain_;
  std::map<int, std::vector<std::uint32_t>> owners_;  // per written buffer, the first task that wrote each word
  std::set<std::pair<const Call*, std::string>> said_;
  std::string at_;
  std::int64_t words_ = 0;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> taskRules(const TileProgram& program) {
  std::vector<std::string> rules;
  for (const Phase& phase : program.phases) Tasks(program, phase).run(rules);
  return rules;
}

}  // namespace cubejit
