// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the component that links LLVM offers for reading, linking and measuring machine code: a table of functions, so
// that the library reaches them without linking LLVM itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/binary/object.h"
#include "codegen/binary/throughput.h"
#include "codegen/code.h"
#include "codegen/listing.h"
#include "cubejit/result.h"

namespace cubejit {

/// Each the function of the same name.
struct BinaryTools {
  Result<Code> (*rawOf)(const Code&);
  Result<std::vector<MachineLine>> (*decode)(const Code&);
  Result<std::vector<std::byte>> (*writeObject)(const ObjectInput&);
  Result<std::vector<std::byte>> (*writeDebugObject)(const ObjectInput&, std::uint64_t);
  const std::vector<std::string>& (*throughputCpus)(const HostIsa&);
  Result<std::vector<BlockThroughput>> (*throughput)(const Code&, const std::vector<CodeBlock>&, const std::string&);
  std::string (*sha256)(const std::string&);
};

/// SHA-256 as 64 hexadecimal digits.
std::string sha256(const std::string& bytes);

const BinaryTools& binaryTools();

}  // namespace cubejit
