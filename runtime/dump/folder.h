// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a folder of files appears, whole or not at all, and how one is read and removed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cubejit/result.h"

namespace cubejit {

/// File name -> contents.
using FolderFiles = std::map<std::string, std::string>;

/// Writes `files` into a temporary folder beside `root`/`name`, makes sure they are on the disk, and renames it; an older folder
/// of that name is replaced. Files that begin with #! are made executable. kIo if anything fails: then nothing is left behind,
/// and an older folder is still there.
Status writeFolder(const std::string& root, const std::string& name, const FolderFiles& files);

/// Names of what is in a folder, sorted; kIo where it cannot be read.
Result<std::vector<std::string>> namesIn(const std::string& folder);

}  // namespace cubejit
