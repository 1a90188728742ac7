// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the sums of the energy model.
#include "runtime/explore/energy.h"

#include <array>
#include <charconv>
#include <cmath>

#include "runtime/text/json_object.h"
#include "runtime/text/text_file.h"

namespace cubejit {
namespace {

constexpr const char* kEnergySchema = "cubejit.energy/1";
constexpr double kMostPicojoules = 1e9;

std::string text(double number) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

// A field list, written once for reading and writing.
template <class F, class V>
void macs(F& f, V&& v) {
  v("f16", f.macF16);
  v("bf16", f.macBf16);
  v("hf32", f.macHf32);
  v("f32", f.macF32);
}

void readSram(const Json& list, EnergyFigures& figures, ObjectReader& reader) {
  figures.sram.clear();
  for (const Json& entry : list) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number() || !entry[1].is_number())
      return reader.fail("'sram_pj_per_byte' must list pairs [bytes, pJ]");
    const double bytes = entry[0].get<double>(), energy = entry[1].get<double>();
    if (!(bytes > 0) || (!figures.sram.empty() && bytes <= figures.sram.back().first))
      return reader.fail("'sram_pj_per_byte': size " + text(bytes) + " must be more than the one before, and than 0");
    if (!(energy > 0) || energy > kMostPicojoules)
      return reader.fail("'sram_pj_per_byte': " + text(energy) + " pJ must be more than 0 and at most 1e9");
    figures.sram.emplace_back(bytes, energy);
  }
  if (figures.sram.empty()) reader.fail("'sram_pj_per_byte' must list at least one pair [bytes, pJ]");
}

}  // namespace

double EnergyFigures::mac(DType type) const {
  if (type == DType::kF32) return macF32;
  if (type == DType::kBf16) return macBf16;
  return isHf32(type) ? macHf32 : macF16;
}

double EnergyFigures::sramByte(double bytes) const {
  if (bytes <= sram.front().first) return sram.front().second * std::sqrt(bytes / sram.front().first);
  for (std::size_t i = 1; i < sram.size(); ++i) {
    const auto [low, atLow] = sram[i - 1];
    const auto [high, atHigh] = sram[i];
    if (bytes <= high) return atLow * std::pow(bytes / low, std::log(atHigh / atLow) / std::log(high / low));
  }
  return sram.back().second;
}

Json energyToJson(const EnergyFigures& figures) {
  Json json{{"schema", kEnergySchema}};
  macs(figures, [&](const char* key, double value) { json["mac_pj"][key] = value; });
  json["sram_pj_per_byte"] = Json::array();
  for (const auto& [bytes, energy] : figures.sram) json["sram_pj_per_byte"].push_back(Json::array({bytes, energy}));
  json["memory_pj_per_byte"] = figures.memory;
  return json;
}

Result<EnergyFigures> readEnergy(const std::string& path) {
  CUBEJIT_TRY(given, readText(path, "figures of the energy model as one JSON object", Stage::kPlan));
  const auto invalid = [&](const std::string& message) {
    return invalidInput(printable(path) + ":\n" + message, Stage::kPlan);
  };
  const auto parsed = parseObject(given, "the table of figures", Stage::kPlan);
  if (!parsed.ok()) return invalid(parsed.error().message);
  const Json& json = *parsed;
  EnergyFigures figures;
  ObjectReader reader(json);
  std::string schema = kEnergySchema;
  reader.string("schema", schema);
  if (schema != kEnergySchema) reader.fail("'schema' = '" + schema + "' must be " + kEnergySchema);
  const auto number = [](ObjectReader& from, const char* key, double& to) {
    from.number(key, to, false);
    if (!(to >= 0) || to > kMostPicojoules)
      from.fail("'" + std::string(key) + "' = " + text(to) + " pJ must be 0 to 1e9");
  };
  number(reader, "memory_pj_per_byte", figures.memory);
  std::string inner;
  if (json.contains("mac_pj")) {
    if (const Json* object = reader.inner("mac_pj", false)) {
      ObjectReader r(*object);
      macs(figures, [&](const char* key, double& to) { number(r, key, to); });
      if (const std::string wrong = r.broken(); !wrong.empty()) inner = "mac_pj: " + wrong;
    }
  }
  if (json.contains("sram_pj_per_byte")) {
    if (const Json* list = reader.inner("sram_pj_per_byte", true)) readSram(*list, figures, reader);
  }
  std::string broken = reader.broken();
  if (!inner.empty()) broken += (broken.empty() ? "" : "\n") + inner;
  if (!broken.empty()) return invalid(broken);
  return figures;
}

Json energyOf(const EnergyFigures& figures, const Machine& machine, const MatrixProduct& step, const CoreCounts& counts,
              double memoryBytes) {
  const auto bytes = [&](Path path) { return static_cast<double>(counts.bytes[static_cast<std::size_t>(path)]); };
  const auto sram = [&](std::int64_t size, double moved) {
    return size == 0 ? 0.0 : moved * figures.sramByte(static_cast<double>(size));
  };
  const Buffers& b = machine.buffers;
  const auto steps = static_cast<double>(counts.cubeSteps);
  const auto m = static_cast<double>(step.shape.m), k = static_cast<double>(step.shape.k),
             n = static_cast<double>(step.shape.n), element = static_cast<double>(byteSize(step.operand));
  const double toGm = bytes(Path::kL0cToGm), throughUb = bytes(Path::kL0cToUb);
  const double ubOut = bytes(Path::kUbToGm), ubIn = bytes(Path::kGmToUb), toL1 = bytes(Path::kGmToL1);
  const double toA = bytes(Path::kL1ToL0a), toB = bytes(Path::kL1ToL0b);
  return Json{{"mac", figures.mac(step.operand) * steps * m * k * n},
              {"l0a", sram(b.l0aBytes, toA + steps * m * k * element)},
              {"l0b", sram(b.l0bBytes, toB + steps * k * n * element)},
              {"l0c", sram(b.l0cBytes, 2 * steps * m * n * 4 + toGm + throughUb)},  // sums are read and written
              {"l1", sram(b.l1Bytes, toL1 + toA + toB)},
              {"ub", sram(b.ubBytes, throughUb + ubOut + ubIn)},
              {"l2", sram(b.l2Bytes, toL1 + ubIn + toGm + ubOut)},
              {"memory", figures.memory * memoryBytes}};
}

}  // namespace cubejit
