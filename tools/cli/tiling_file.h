// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how Ascend C tilings are kept in files: as JSON, one field a key, or as the bytes a kernel is given. Leaves their rules
// to checkTiling.
#pragma once

#include <string>
#include <variant>

#include "cubejit/result.h"
#include "cubejit_ascendc/tiling_request.h"

namespace cubejit::cli {

using InputTiling = AscendC::tiling::TConv3DBackpropInputTiling;
using FilterTiling = AscendC::tiling::TConv3DBpFilterTiling;
using Tiling = std::variant<InputTiling, FilterTiling>;

/// {"schema": "cubejit.tiling/1", "struct": name, fields...}, one line.
std::string tilingToJson(const Tiling& tiling);

/// Reads what tilingToJson writes; fields that are missing are 0, unknown ones are errors.
Result<Tiling> tilingFromJson(const std::string& text);

/// A file with either: JSON if it begins with '{', else the bytes of one of the two structs, told apart by their size.
Result<Tiling> readTiling(const std::string& path);

/// Calls v(fieldName, field&) for every field of whichever it is.
template <class T, class Visitor>
void describeTiling(T& tiling, const Visitor& v) {
  if (auto* input = std::get_if<InputTiling>(&tiling)) ascendc::describeInputTiling(*input, v);
  if (auto* filter = std::get_if<FilterTiling>(&tiling)) ascendc::describeFilterTiling(*filter, v);
}

}  // namespace cubejit::cli
