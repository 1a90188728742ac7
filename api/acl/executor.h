// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what joins the two phases: what was prepared, and the addresses it is to be done with. Leaves doing it to prepare.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "aclnn/acl_meta.h"
#include "api/acl/objects.h"
#include "api/acl/prepare.h"

namespace cubejit::acl {

/// A tensor argument of an operator.
struct Argument {
  TensorPtr tensor;      ///< null: not given
  int id = -1;           ///< TensorId; -1: its values are not used
  void* data = nullptr;  ///< what aclSetTensorAddr changes
};

class Executor {
 public:
  static constexpr std::uint64_t kKind = 8;
  Executor(std::shared_ptr<const Prepared> prepared, std::vector<Argument> inputs, std::vector<Argument> outputs,
           const char* document);

  /// Phase 2, but for what concerns the handle.
  int run(void* workspace, std::uint64_t workspaceBytes, const void* stream);

  void setRepeatable() {
    const std::lock_guard<std::mutex> lock(mutex_);
    repeatable_ = true;
  }
  bool repeatable() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return repeatable_;
  }
  enum class Side : std::uint8_t { kInput, kOutput, kBoth };
  int setAddress(Side side, std::size_t index, const Tensor& tensor, void* data);
  std::size_t workspaceBytes() const { return prepared_->workspaceBytes; }
  /// Every rule phase 2's arguments break.
  int check(const void* workspace, std::uint64_t workspaceBytes) const;

 private:
  Addresses addresses() const;

  const std::shared_ptr<const Prepared> prepared_;
  const char* const document_;
  mutable std::mutex mutex_;
  std::vector<Argument> inputs_, outputs_;
  bool repeatable_ = false;
};

/// Phase 2 of every operator.
aclnnStatus runExecutor(void* workspace, std::uint64_t workspaceBytes, aclOpExecutor* executor, const void* stream,
                        const char* document);

}  // namespace cubejit::acl
