// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the two forms of tiling files.
#include "tiling_file.h"

#include <cstring>
#include <limits>

#include "runtime/text/json_object.h"
#include "runtime/text/json_value.h"
#include "runtime/text/printable.h"
#include "runtime/text/text_file.h"

namespace cubejit::cli {
namespace {

constexpr const char* kInputName = "TConv3DBackpropInputTiling";
constexpr const char* kFilterName = "TConv3DBpFilterTiling";

}  // namespace

std::string tilingToJson(const Tiling& tiling) {
  Json json{{"schema", "cubejit.tiling/1"},
            {"struct", std::holds_alternative<InputTiling>(tiling) ? kInputName : kFilterName}};
  describeTiling(tiling, [&](const char* name, const auto& value) { json[name] = value; });
  return json.dump();
}

Result<Tiling> tilingFromJson(const std::string& text) {
  CUBEJIT_TRY(json, parseObject(text, "the tiling", Stage::kPlan));
  ObjectReader reader(json);
  std::string schema = "cubejit.tiling/1", name;
  reader.string("schema", schema);
  reader.string("struct", name, true);
  if (schema != "cubejit.tiling/1") reader.fail("'schema' = '" + schema + "' must be cubejit.tiling/1");
  if (name != kInputName && name != kFilterName)
    return invalidInput("'struct' = '" + name + "' must be " + kInputName + " or " + kFilterName, Stage::kPlan);
  Tiling tiling;
  if (name == kFilterName) tiling = FilterTiling{};
  describeTiling(tiling, [&](const char* field, auto& to) {
    using Field = std::decay_t<decltype(to)>;
    if constexpr (std::is_same_v<Field, std::uint64_t>) {
      reader.natural(field, to, false);
    } else {
      std::int64_t value = 0;
      reader.integer(field, value, false);
      using Limits = std::numeric_limits<Field>;
      if (value < static_cast<std::int64_t>(Limits::min()) || value > static_cast<std::int64_t>(Limits::max()))
        reader.fail(std::string("'") + field + "' = " + std::to_string(value) + " must be a whole number from " +
                    std::to_string(Limits::min()) + " to " + std::to_string(Limits::max()));
      to = static_cast<Field>(value);
    }
  });
  const std::string broken = reader.broken();
  if (!broken.empty()) return invalidInput(broken, Stage::kPlan);
  return tiling;
}

Result<Tiling> readTiling(const std::string& path) {
  CUBEJIT_TRY(bytes, readText(path, "a tiling as one JSON object, or the bytes of its struct", Stage::kPlan));
  if (!bytes.empty() && bytes.front() == '{') return tilingFromJson(bytes);
  if (bytes.size() == sizeof(InputTiling)) {
    InputTiling tiling;
    std::memcpy(&tiling, bytes.data(), sizeof(tiling));
    return Tiling(tiling);
  }
  AscendC::tiling::Conv3DBackpropFilterTilingData all;
  if (bytes.size() == sizeof(all)) {
    std::memcpy(&all, bytes.data(), sizeof(all));
    return Tiling(all.dwTiling);
  }
  FilterTiling tiling;
  if (bytes.size() == sizeof(tiling)) {
    std::memcpy(&tiling, bytes.data(), sizeof(tiling));
    return Tiling(tiling);
  }
  return invalidInput(printable(path) + " has " + std::to_string(bytes.size()) +
                          " bytes: neither JSON nor a tiling of " + std::to_string(sizeof(InputTiling)) +
                          " (input) or " + std::to_string(sizeof(FilterTiling)) + " or " + std::to_string(sizeof(all)) +
                          " (filter)",
                      Stage::kPlan);
}

}  // namespace cubejit::cli
