// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what is said about the speed of a block of machine code: LLVM's machine-code analyser simulates it on the models of
// CPUs, assuming that every load hits the L1 cache and every jump is foreseen. Part of the component that links LLVM.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codegen/code.h"
#include "cubejit/result.h"

namespace cubejit {

/// A straight run of instructions; loops' bodies are what is worth asking about.
struct CodeBlock {
  std::int32_t begin = 0, end = 0;  ///< code offsets
};

struct BlockThroughput {
  CodeBlock block;
  int instructions = 0, microOps = 0;  ///< of one iteration
  double cycles = 0;                   ///< of one iteration, in the steady state
  double bound = 0;                    ///< what the units that are needed most would take alone
  /// Resources by how busy they are, busiest first: share of the cycles.
  std::vector<std::pair<std::string, double>> busy;
};

/// CPU models worth asking about code for `isa`: LLVM's names.
const std::vector<std::string>& throughputCpus(const HostIsa& isa);

/// One entry per block. Fails with kUnsupported if LLVM has no model of the CPU, or if the CPU lacks the code's ISA.
Result<std::vector<BlockThroughput>> throughput(const Code& code, const std::vector<CodeBlock>& blocks,
                                                const std::string& cpu);

}  // namespace cubejit
