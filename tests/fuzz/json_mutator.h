// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how JSON is mutated so that it stays JSON: a value within is changed, and only now and then a byte. Bytes alone seldom get past
// the parser.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

namespace cubejit::fuzz {

using Json = nlohmann::ordered_json;

inline void collect(Json& json, std::vector<Json*>& values, std::vector<Json*>& parents) {
  for (Json& value : json) {
    values.push_back(&value);
    parents.push_back(&json);
    if (value.is_structured()) collect(value, values, parents);
  }
}

/// A whole number near the one given, a small one, or one at the edge of what a field may be.
inline std::int64_t otherNumber(std::int64_t value, std::mt19937_64& random) {
  constexpr std::int64_t kEdges[] = {-1,        255,       256,  65536,   INT32_MAX, -4096,     4294967295, 4294967296,
                                     INT64_MAX, INT64_MIN, 1000, 1000000, 1 << 30,   1LL << 40, 1LL << 62};
  const auto wrapped = static_cast<std::uint64_t>(value);
  switch (random() % 8) {
    case 0: return static_cast<std::int64_t>(wrapped + 1);
    case 1: return static_cast<std::int64_t>(wrapped - 1);
    case 2: return static_cast<std::int64_t>(wrapped * 2);
    case 3: return value / 2;
    case 4: return kEdges[random() % std::size(kEdges)];
    case 5: return static_cast<std::int64_t>(1) << random() % 8;
    default: return static_cast<std::int64_t>(random() % 20);
  }
}

/// Changes one value of the object. `words` are what texts may be changed to.
inline void mutateJson(Json& json, const std::vector<std::string>& words, std::mt19937_64& random) {
  std::vector<Json*> values, parents;
  collect(json, values, parents);
  if (values.empty()) return;
  const std::size_t at = random() % values.size();
  Json& value = *values[at];
  Json& parent = *parents[at];
  const std::uint64_t kind = random() % 16;
  if (kind == 0 && parent.is_array())
    parent.push_back(Json(value));
  else if (kind == 1 && parent.is_array())
    parent.erase(parent.size() - 1);
  else if (kind == 1)
    parent.erase(std::string(std::next(parent.begin(), static_cast<long>(random() % parent.size())).key()));
  else if (kind == 2)
    value = Json(*values[random() % values.size()]);
  else if (value.is_boolean())
    value = !value.get<bool>();
  else if (value.is_number_integer())
    value = otherNumber(value.get<std::int64_t>(), random);
  else if (value.is_number_float())
    value = random() % 2 == 0 ? value.get<double>() * 1.5 : 1 / (value.get<double>() + 1e-300);
  else if (value.is_string() && !words.empty())
    value = words[random() % words.size()];
}

/// A mutator over JSON texts.
inline std::size_t mutateJsonText(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                                  const std::vector<std::string>& words) {
  std::mt19937_64 random(seed);
  Json json = Json::parse(textOf(data, size), nullptr, false);
  if (random() % 16 == 0 || !json.is_object()) return LLVMFuzzerMutate(data, size, most);
  for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) mutateJson(json, words, random);
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

}  // namespace cubejit::fuzz
