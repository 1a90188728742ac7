// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which files a dumped pass has and what is in them; the folder says how to make it again, byte by byte.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/dump/folder.h"
#include "runtime/dump/pass.h"
#include "runtime/dump/stages.h"

namespace cubejit {

struct FilesRequest {
  std::vector<DumpStage> stages;
  std::string kernels;  ///< kernels to write: a part of their name, * and ? stand for anything; empty = all
  std::string prefix;   ///< of the symbols in obj and c-header; empty = the folder's name
  std::string backend;  ///< that made the code
  const BinaryTools* tools = nullptr;  ///< null: the component is missing; stages that need it are errors
  std::string missing;                 ///< why there are no tools
  /// Text of stage ll (false) or ll.opt (true) of a kernel; empty: the component is missing.
  std::function<Result<std::string>(const VectorProgram&, bool optimised)> ir;
  /// Makes an object of a program, if the backend that made the code makes objects.
  std::function<Result<Code>(const VectorProgram&)> emit;
};

/// Whether the stage can only be written by the LLVM component.
bool needsComponent(DumpStage stage);

/// Files of one pass. Empty if no kernel's name fits the filter. Deterministic.
Result<FolderFiles> dumpFiles(const PassStages& stages, const FilesRequest& request);

/// The object of stage obj.
ObjectInput aotObject(const ExplainedPass& pass, const std::string& prefix);

}  // namespace cubejit
