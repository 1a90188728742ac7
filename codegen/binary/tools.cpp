// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing: the table, and LLVM's hash.
#include "codegen/binary/tools.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include "codegen/disassemble.h"

namespace cubejit {

std::string sha256(const std::string& bytes) {
  const auto hash = llvm::SHA256::hash({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return llvm::toHex(hash, true);
}

const BinaryTools& binaryTools() {
  static constexpr BinaryTools kTools{rawOf, decode, writeObject, writeDebugObject, throughputCpus, throughput, sha256};
  return kTools;
}

}  // namespace cubejit
