// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a folder of files appears: whole or not at all.
#pragma once

#include <map>
#include <string>

#include "cubejit/result.h"

namespace cubejit {

/// File name -> contents.
using FolderFiles = std::map<std::string, std::string>;

/// Writes `files` into a temporary folder beside `root`/`name`, makes sure they are on the disk, and renames it; an older folder
/// of that name is replaced. Files that begin with #! are made executable. kIo if anything fails: then nothing is left behind,
/// and an older folder is still there.
Status writeFolder(const std::string& root, const std::string& name, const FolderFiles& files);

}  // namespace cubejit
