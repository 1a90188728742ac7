// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a dumped folder describes itself: hashes of every file, and a script that makes it again and compares.
#pragma once

#include <string>

#include "runtime/dump/files.h"

namespace cubejit {

/// JSON, schema cubejit.dump/1. Nothing in it changes from run to run.
std::string metaJson(const PassStages& stages, const FilesRequest& request, const FolderFiles& files);

/// A kernel's parameters and their values, as its text writes them.
std::string parametersToJson(const lang::Source& kernel);

/// The command whose code a C header is of.
std::string headerCommand(const PassStages& stages);

/// A shell script: it runs the command with this folder's plan, or text and parameters, and compares the result byte by byte.
std::string reproScript(const PassStages& stages, const FilesRequest& request);

}  // namespace cubejit
