// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what phase 1 of all operators has in common: resolving handles, remembering what was prepared for a shape, handing out
// executors. Leaves rules to rules.h and conv_tbc.cpp.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/acl/executor.h"
#include "api/acl/findings.h"
#include "api/acl/parts.h"
#include "api/acl/registry.h"

namespace cubejit::acl {

/// Resolves handles and notes what is null (161001) or not alive (161002). Null arguments are noted before dead ones.
class Arguments {
 public:
  explicit Arguments(const char* document) : nulls_(document), dead_(document) {}

  template <class T, class Handle>
  std::shared_ptr<const T> required(const Handle* handle, const char* name) {
    nulls_.require(handle != nullptr, ACLNN_ERR_PARAM_NULLPTR, name, "is null");
    return optional<T>(handle, name);
  }
  template <class T, class Handle>
  std::shared_ptr<const T> optional(const Handle* handle, const char* name) {
    if (handle == nullptr) return nullptr;
    std::shared_ptr<const T> found = registry<T>().find(handle);
    dead_.require(found != nullptr, ACLNN_ERR_PARAM_INVALID, name, "was destroyed, or never made");
    return found;
  }
  void result(const void* pointer, const char* name) {
    nulls_.require(pointer != nullptr, ACLNN_ERR_PARAM_NULLPTR, name, "is null");
  }
  /// Null; then not alive. The caller adds more rules about null between the two.
  Findings& nulls() { return nulls_; }
  const Findings& nulls() const { return nulls_; }
  const Findings& dead() const { return dead_; }

 private:
  Findings nulls_, dead_;
};

/// The part whose rules hold, if the environment makes sense to it and to the session, and there is such a part to emulate.
Result<std::shared_ptr<const Part>> environment();

using PreparedPtr = std::shared_ptr<const Prepared>;

/// What was prepared for a key; null if nothing was, or it has been forgotten.
PreparedPtr recall(const std::string& key);
/// Remembers; what was there before is forgotten when there are very many.
void remember(const std::string& key, const PreparedPtr& prepared);

/// The library's error as a finding: rules about the problem are the caller's fault, the rest is an inner failure.
void addError(Findings& findings, const Error& error);

/// Makes the executor and fills phase 1's results.
void handOut(const PreparedPtr& prepared, std::vector<Argument> inputs, std::vector<Argument> outputs,
             const char* document, std::uint64_t* workspaceSize, aclOpExecutor** executor);

/// What phase 1 ends with, once every argument is known: what was prepared for keyOf(), or what make(findings) prepares now.
template <class Key, class Make>
aclnnStatus answer(const Arguments& arguments, const char* document, const Key& keyOf, const Make& make,
                   std::vector<Argument> inputs, std::vector<Argument> outputs, std::uint64_t* workspaceSize,
                   aclOpExecutor** executor) {
  if (arguments.nulls().any()) return arguments.nulls().report();
  if (arguments.dead().any()) return arguments.dead().report();
  const std::string key = keyOf();
  PreparedPtr prepared = recall(key);
  if (prepared == nullptr) {
    Findings findings(document);
    prepared = make(findings);
    if (prepared == nullptr) return findings.report();
    remember(key, prepared);
  }
  handOut(prepared, std::move(inputs), std::move(outputs), document, workspaceSize, executor);
  return ACLNN_SUCCESS;
}

/// The view of a tensor with 1 to 5 dimensions; `axes` says which of n, c, d, h, w each is.
View viewOf(const Tensor& tensor, const std::vector<std::size_t>& axes);

}  // namespace cubejit::acl
