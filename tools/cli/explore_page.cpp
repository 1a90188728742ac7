// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing but the order: the data into the page, the page into its place.
#include "explore_page.h"

#include "explore_page_text.h"
#include "page_text.h"
#include "runtime/text/whole_file.h"

namespace cubejit::cli {

Status writeExplorePage(const std::string& path, const Json& request, const std::vector<Json>& points) {
  return writeWholeFile(path, pageText(kExplorePage, {{"request", request}, {"points", points}}));
}

}  // namespace cubejit::cli
