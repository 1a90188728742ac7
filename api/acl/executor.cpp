// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what phase 2 checks before it queues anything, and when an executor is used up.
#include "api/acl/executor.h"

#include <utility>

#include "api/acl/findings.h"
#include "api/acl/memory.h"
#include "api/acl/registry.h"
#include "api/acl/request.h"
#include "api/acl/stream.h"

namespace cubejit::acl {
namespace {

constexpr std::uintptr_t kWorkspaceAlignment = 64;  // of an x86 vector, and what the library asks for
constexpr std::uintptr_t kTensorAlignment = 32;     // documented of aclSetTensorAddr

struct Block {
  const char* name = "";
  std::uintptr_t begin = 0;
  std::uint64_t bytes = 0;
  bool strided = false;
  bool meets(const Block& other) const {
    return bytes > 0 && other.bytes > 0 && begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

Block blockOf(const char* name, const void* data, std::uint64_t bytes) {
  return {name, reinterpret_cast<std::uintptr_t>(data), bytes, false};
}

void checkWorkspace(const void* workspace, std::uint64_t bytes, std::uint64_t promised, Findings& findings) {
  if (promised == 0) return;
  if (bytes < promised)
    findings.add(kInvalid, "workspaceSize",
                 std::to_string(bytes) + " is less than the " + std::to_string(promised) + " of phase 1");
  if (reinterpret_cast<std::uintptr_t>(workspace) % kWorkspaceAlignment != 0)
    findings.add(kInvalid, "workspace", "the address must be a multiple of " + std::to_string(kWorkspaceAlignment));
  const std::size_t left = bytesLeft(workspace);
  if (left < promised)
    findings.add(
        kInvalid, "workspace",
        "its allocation has " + std::to_string(left) + " bytes left, phase 1 asked for " + std::to_string(promised));
}

void checkBlock(const Block& block, std::int64_t elementBytes, const void* data, Findings& findings) {
  if (block.bytes == 0) return;
  if (data == nullptr) {
    findings.add(kNull, block.name, "its data is null, " + std::to_string(block.bytes) + " bytes are needed");
    return;
  }
  if (block.begin % static_cast<std::uintptr_t>(elementBytes) != 0)
    findings.add(kInvalid, block.name,
                 "its data must be aligned to an element, " + std::to_string(elementBytes) + " bytes");
  const std::size_t left = bytesLeft(data);
  if (block.bytes > left)
    findings.add(
        kInvalid, block.name,
        "reaches " + std::to_string(block.bytes) + " bytes, its allocation has " + std::to_string(left) + " left");
}

}  // namespace

Executor::Executor(std::shared_ptr<const Prepared> prepared, std::vector<Argument> inputs,
                   std::vector<Argument> outputs, const char* document)
    : prepared_(std::move(prepared)), document_(document), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

Addresses Executor::addresses() const {
  Addresses found{};
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto* side : {&inputs_, &outputs_}) {
    for (const Argument& argument : *side) {
      if (argument.tensor == nullptr || argument.id < 0 || argument.data == nullptr) continue;
      found[static_cast<std::size_t>(argument.id)] =
          static_cast<char*>(argument.data) + argument.tensor->offset * elementBytes(argument.tensor->dtype);
    }
  }
  return found;
}

int Executor::check(const void* workspace, std::uint64_t workspaceBytes) const {
  Findings findings(document_);
  checkWorkspace(workspace, workspaceBytes, prepared_->workspaceBytes, findings);
  const Addresses at = addresses();
  // Few and counted: this is on the way of every call.
  std::array<Block, kTensors + 1> read, written;
  std::size_t reads = 0, writes = 0;
  for (std::size_t i = 0; i < kTensors; ++i) {
    if (!prepared_->reads[i] && !prepared_->writes[i]) continue;
    const View& view = prepared_->views[i];
    const std::int64_t bytes = view.elementBytes();
    Block block = blockOf(kTensorNames[i], at[i], static_cast<std::uint64_t>(view.span() * bytes));
    block.strided = formatOf(view).strided();
    checkBlock(block, bytes, at[i], findings);
    if (prepared_->writes[i])
      written[writes++] = block;
    else
      read[reads++] = block;
  }
  if (findings.any()) return findings.report();
  const std::size_t last = writes;
  written[writes++] = blockOf("workspace", workspace, prepared_->workspaceBytes);
  const auto apart = [&](const Block& one, const Block& other) {
    if (one.meets(other))
      findings.add(
          kInvalid, one.name,
          std::string("shares memory with ") + other.name + "; outputs and workspace need memory of their own");
  };
  for (std::size_t i = 0; i < writes; ++i) {
    for (std::size_t j = i + 1; j < writes; ++j) {
      // Elements of one output may lie between those of another; then it begins elsewhere.
      const bool between = (written[i].strided || written[j].strided) && written[i].begin != written[j].begin;
      if (!between || j == last) apart(written[i], written[j]);
    }
    // Scattered outputs are written when all is read.
    for (std::size_t j = 0; j < reads && !written[i].strided; ++j) apart(written[i], read[j]);
  }
  return findings.any() ? findings.report() : ACLNN_SUCCESS;
}

int Executor::run(void* workspace, std::uint64_t workspaceBytes, const void* stream) {
  static_cast<void>(workspaceBytes);
  const auto queue = streamOf(stream);
  if (queue == nullptr) return fail(ACLNN_ERR_RUNTIME_ERROR, document_, "stream", "it was destroyed, or never made");
  const Status queued = queue->submit([prepared = prepared_, at = addresses(), workspace] {
    return perform(*prepared, at, static_cast<char*>(workspace));
  });
  return queued.ok() ? ACLNN_SUCCESS : fail(ACLNN_ERR_RUNTIME_ERROR, document_, "stream", queued.error().message);
}

int Executor::setAddress(Side side, std::size_t index, const Tensor& tensor, void* data) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Argument>* arguments = side == Side::kOutput ? &outputs_ : &inputs_;
  if (side == Side::kBoth && index >= inputs_.size()) {
    index -= inputs_.size();
    arguments = &outputs_;
  }
  if (index >= arguments->size() || (*arguments)[index].tensor == nullptr)
    return fail(kInvalid, document_, "index", std::to_string(index) + " is none of the operator's tensors");
  Argument& argument = (*arguments)[index];
  if (!sameView(*argument.tensor, tensor))
    return fail(kInvalid, document_, "tensor",
                "shape " + shapeText(tensor) + " or its type, strides or offset are not those of phase 1, " +
                    shapeText(*argument.tensor));
  if (reinterpret_cast<std::uintptr_t>(data) % kTensorAlignment != 0)
    return fail(kInvalid, document_, "addr", "the address must be a multiple of " + std::to_string(kTensorAlignment));
  argument.data = data;
  return ACLNN_SUCCESS;
}

aclnnStatus runExecutor(void* workspace, std::uint64_t workspaceBytes, aclOpExecutor* executor, const void* stream,
                        const char* document) {
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    if (executor == nullptr) return fail(kNull, document, "executor", "is null");
    auto found = registry<Executor>().find(executor);
    const auto gone = [&] {
      return fail(kInvalid, document, "executor", "it was used up or destroyed, or never made");
    };
    if (found == nullptr) return gone();
    if (workspace == nullptr && workspaceBytes > 0) {
      registry<Executor>().remove(executor);
      return fail(kNull, document, "workspace",
                  "is null, workspaceSize is " + std::to_string(workspaceBytes) + "; the executor is destroyed");
    }
    if (const int broken = found->check(workspace, workspaceBytes); broken != ACLNN_SUCCESS) return broken;
    if (streamOf(stream) == nullptr)
      return fail(ACLNN_ERR_RUNTIME_ERROR, document, "stream", "it was destroyed, or never made");
    // Where two calls have one executor that is not repeatable, one gets it.
    if (!found->repeatable() && registry<Executor>().remove(executor) == nullptr) return gone();
    return found->run(workspace, workspaceBytes, stream);
  });
}

namespace {

aclnnStatus setAddress(Executor::Side side, aclOpExecutor* executor, std::size_t index, const aclTensor* tensor,
                       void* data, const char* function) {
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    if (executor == nullptr || tensor == nullptr || data == nullptr)
      return fail(ACLNN_ERR_INNER_NULLPTR, kMetaDocument, function, "an argument is null");
    const auto found = registry<Executor>().find(executor);
    const auto described = registry<Tensor>().find(tensor);
    if (found == nullptr || described == nullptr)
      return fail(kInvalid, kMetaDocument, function, "the executor or tensor was destroyed, or never made");
    return found->setAddress(side, index, *described, data);
  });
}

template <class Body>
aclnnStatus withExecutor(aclOpExecutor* executor, const char* function, Body&& body) {
  return guarded<aclnnStatus>(ACLNN_ERR_INNER, [&]() -> aclnnStatus {
    if (executor == nullptr) return fail(ACLNN_ERR_INNER_NULLPTR, kMetaDocument, function, "executor is null");
    const auto found = body();
    if (found != nullptr) return ACLNN_SUCCESS;
    return fail(kInvalid, kMetaDocument, function, "the executor was used up or destroyed, or never made");
  });
}

}  // namespace
}  // namespace cubejit::acl

using namespace cubejit::acl;

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return withExecutor(executor, "aclSetAclOpExecutorRepeatable", [&] {
    auto found = registry<Executor>().find(executor);
    if (found != nullptr) found->setRepeatable();
    return found;
  });
}
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return withExecutor(executor, "aclDestroyAclOpExecutor", [&] { return registry<Executor>().remove(executor); });
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* addr) {
  return setAddress(Executor::Side::kInput, executor, index, tensor, addr, "aclSetInputTensorAddr");
}
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* addr) {
  return setAddress(Executor::Side::kOutput, executor, index, tensor, addr, "aclSetOutputTensorAddr");
}
aclnnStatus aclSetTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* addr) {
  return setAddress(Executor::Side::kBoth, executor, index, tensor, addr, "aclSetTensorAddr");
}
aclnnStatus AclSetInputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* addr) {
  return aclSetInputTensorAddr(executor, index, tensor, addr);
}
aclnnStatus AclSetOutputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* addr) {
  return aclSetOutputTensorAddr(executor, index, tensor, addr);
}
aclnnStatus AclSetTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* addr) {
  return aclSetTensorAddr(executor, index, tensor, addr);
}
