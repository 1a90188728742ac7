// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how many shapes are remembered, and how.
#include "api/acl/phase_one.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "api/acl/rules.h"

namespace cubejit::acl {
namespace {

// As many as a session keeps executables unless told otherwise; a network has hundreds.
constexpr std::size_t kMostShapes = 1024;

struct Memory {
  std::shared_mutex mutex;
  std::unordered_map<std::string, PreparedPtr> shapes;
};
Memory& memory() {
  static auto* const one = new Memory;
  return *one;
}

}  // namespace

Result<std::shared_ptr<const Part>> environment() {
  CUBEJIT_RETURN_IF_ERROR(sharedSession());
  CUBEJIT_TRY(part, currentPart());
  if (part->emulated && part->isHost())
    return Error{
        ErrorCode::kUnsupported, Stage::kProblem,
        "emulation is asked for (CUBEJIT_ACL_EMULATE or cubejit_acl_set_emulation), but of no part: the host's "
        "rules hold; choose a part with CUBEJIT_SOC or cubejit_acl_set_soc"};
  return part;
}

PreparedPtr recall(const std::string& key) {
  Memory& m = memory();
  const std::shared_lock<std::shared_mutex> lock(m.mutex);
  const auto found = m.shapes.find(key);
  return found == m.shapes.end() ? nullptr : found->second;
}

void remember(const std::string& key, const PreparedPtr& prepared) {
  Memory& m = memory();
  const std::lock_guard<std::shared_mutex> lock(m.mutex);
  if (m.shapes.size() >= kMostShapes) m.shapes.clear();
  m.shapes.insert_or_assign(key, prepared);
}

void addError(Findings& findings, const Error& error) {
  findings.add(error.code == ErrorCode::kInvalidProblem ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_INNER_NULLPTR, error);
}

void handOut(const PreparedPtr& prepared, std::vector<Argument> inputs, std::vector<Argument> outputs,
             const char* document, std::uint64_t* workspaceSize, aclOpExecutor** executor) {
  for (auto* side : {&inputs, &outputs}) {
    for (Argument& argument : *side) {
      if (argument.tensor != nullptr) argument.data = argument.tensor->data;
    }
  }
  auto made = std::make_shared<Executor>(prepared, std::move(inputs), std::move(outputs), document);
  *executor = static_cast<aclOpExecutor*>(registry<Executor>().add(std::move(made)));
  *workspaceSize = prepared->workspaceBytes;
}

View viewOf(const Tensor& t, const std::vector<std::size_t>& axes) {
  View view;
  view.dtype = dtypeOf(t.dtype);
  view.eightBit = eightBitOf(t.dtype);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    view.extents[axes[i]] = t.dims[i];
    view.strides[axes[i]] = t.strides[i];
  }
  return view;
}

}  // namespace cubejit::acl
