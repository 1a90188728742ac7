// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a dumped folder describes itself: hashes of every file, and a script that makes it again and compares.
#pragma once

#include <string>

#include "runtime/dump/files.h"

namespace cubejit {

/// JSON, schema cubejit.dump/1. Nothing in it changes from run to run.
std::string metaJson(const PassStages& stages, const FilesRequest& request, const FolderFiles& files);

/// A shell script: it runs the command with this folder's plan and compares the result byte by byte.
std::string reproScript(const PassStages& stages, const FilesRequest& request);

}  // namespace cubejit
