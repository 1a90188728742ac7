// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an exploration's page is written. Leaves how it looks to explore.html.
#pragma once

#include <string>
#include <vector>

#include "cubejit/result.h"
#include "runtime/text/json_value.h"

namespace cubejit::cli {

/// Writes one self-contained HTML page: `request` is the first line of a file of points, `points` its others. Names come from users'
/// files: they reach the page as JSON text only. kIo leaves a page that is there as it was.
Status writeExplorePage(const std::string& path, const Json& request, const std::vector<Json>& points);

}  // namespace cubejit::cli
