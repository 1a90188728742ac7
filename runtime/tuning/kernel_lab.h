// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how choices of a kernel's parameters are tried: in this process, all on the same random inputs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/exec/program_memory.h"
#include "runtime/loader/load_kernel.h"
#include "runtime/tuning/contest.h"
#include "runtime/tuning/timed_runs.h"

namespace cubejit {

class KernelLab : public Track {
 public:
  /// `options` are a session's. All that is loaded must have the inputs and outputs of what is loaded first, kUntuned.
  KernelLab(std::string text, const Machine& machine, const Options& options)
      : text_(std::move(text)), machine_(machine), options_(options) {}

  /// Generates the kernel's code and runs it once. A number used before is replaced.
  LabReply load(int number, const lang::Settings& settings);
  /// The untuned kernel's results are those of its interpreter, bit by bit, if that takes a second or so; others' are as near to the untuned
  /// one's as sums in another order are.
  LabReply verify(int number) override;
  LabReply sample(const std::vector<int>& numbers, int rounds) override;
  void drop(int number) override { loaded_.erase(number); }
  LabReply renew() override;

 private:
  struct Loaded {
    LoadedKernel kernel;
    std::vector<std::size_t> order;  ///< by its callers' buffers: which of buffers_
    std::int64_t leastNs = 0;
  };
  CallerBuffers boundTo(const Loaded& loaded, const ProgramMemory& memory) const;
  Result<std::int64_t> run(const Loaded& loaded);
  /// What the outputs hold after a run.
  Result<std::vector<std::string>> results(const Loaded& loaded);

  std::string text_;
  Machine machine_;
  Options options_;
  std::vector<Buffer> buffers_;  ///< inputs and outputs
  ProgramMemory memory_;
  AlignedMemory workspace_;
  std::size_t workspaceBytes_ = 0;
  std::vector<std::string> expected_;  ///< of each output
  std::map<int, Loaded> loaded_;
};

}  // namespace cubejit
