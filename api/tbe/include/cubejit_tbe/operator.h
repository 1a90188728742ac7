// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a described gradient becomes runnable and is run on arrays. Leaves generating and computing to a Session.
// C++17; nothing throws.
#pragma once

#include <cstddef>
#include <memory>

#include "cubejit/cubejit.hpp"
#include "cubejit/export.h"
#include "cubejit_tbe/conv_backprop.h"

namespace cubejit::tbe {

/// The compiled form of a ResTensor. Immutable; may be run by many threads at once, each with its own workspace.
class Operator {
 public:
  CUBEJIT_API Operator(ResTensor result, std::shared_ptr<const Executable> executable);

  const ResTensor& result() const { return result_; }
  const Executable& executable() const { return *executable_; }
  /// Bytes of the three arrays.
  CUBEJIT_API std::size_t firstBytes() const;
  CUBEJIT_API std::size_t outBackpropBytes() const;
  CUBEJIT_API std::size_t resultBytes() const;
  /// Bytes of workspace a run needs (threads 0: the session's choice).
  CUBEJIT_API std::size_t workspaceBytes(int threads = 0) const;
  /// Computes. `workspace` must be 64-byte aligned. Errors: null, overlapping or misaligned memory, a workspace too small.
  CUBEJIT_API Status run(const void* first, const void* outBackprop, void* result, void* workspace,
                         std::size_t workspaceBytes, int threads = 0) const;

 private:
  ResTensor result_;
  std::shared_ptr<const Executable> executable_;
};

/// Generates the code of a result, or finds it in the session.
CUBEJIT_API Result<Operator> build(Session& session, const ResTensor& result);

}  // namespace cubejit::tbe
