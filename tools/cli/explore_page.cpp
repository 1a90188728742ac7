// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing but the order: the data into the page, the page into its place.
#include "explore_page.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "explore_page_text.h"
#include "page_text.h"

namespace cubejit::cli {

Status writeExplorePage(const std::string& path, const nlohmann::ordered_json& request,
                        const std::vector<nlohmann::ordered_json>& points) {
  // Written beside and renamed: a page is whole or not there.
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary);
  out << pageText(kExplorePage, {{"request", request}, {"points", points}});
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(temporary, path, error);
  if (out && !error) return Unit{};
  std::filesystem::remove(temporary, error);
  return Error{ErrorCode::kIo, Stage::kRun, "cannot write the report " + path};
}

}  // namespace cubejit::cli
