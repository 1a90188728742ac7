// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how points of an exploration are kept: the request, then a point a line as they end; readable at any moment. What is there already is
// not asked again.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "cubejit/result.h"
#include "runtime/host/file_descriptor.h"
#include "runtime/text/json_value.h"

namespace cubejit {

/// Locks the file, so that only one process at a time has it open.
class PointFile {
 public:
  /// Reads what there is into `points`, one for each of the request's, null where there is none; or begins the file. Empty path: nothing is kept.
  /// Errors: kIo, or another request's file.
  Status open(const std::string& path, const Json& request, std::vector<Json>& points);
  Status add(const Json& line);

 private:
  // Gives the points that are there, and how many bytes of the file hold them and the request.
  Result<std::size_t> readKnown(const Json& request, std::vector<Json>& points) const;
  Error cannot() const;  // right behind what failed
  Error invalid(const std::string& what) const;

  std::string path_;
  std::ofstream out_;
  FileDescriptor lock_;  ///< of the file, by this process
};

}  // namespace cubejit
