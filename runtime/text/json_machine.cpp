// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an NPU is read and written; a field list is written once and used for both.
#include "runtime/text/json_machine.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include "cubejit/machines.h"
#include "cubejit/words.h"
#include "runtime/text/json_object.h"
#include "runtime/text/json_value.h"
#include "runtime/text/printable.h"
#include "runtime/text/text_file.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

template <class M, class V>
void sizes(M& m, V&& v) {
  v("l0a_bytes", m.buffers.l0aBytes);
  v("l0b_bytes", m.buffers.l0bBytes);
  v("l0c_bytes", m.buffers.l0cBytes);
  v("l1_bytes", m.buffers.l1Bytes);
  v("l2_bytes", m.buffers.l2Bytes);
  v("ub_bytes", m.buffers.ubBytes);
  v("bt_bytes", m.buffers.btBytes);
  v("fb_bytes", m.buffers.fbBytes);
  v("vector_bytes", m.npu.vectorBytes);
}

template <class M, class V>
void rates(M& m, V&& v) {
  auto& r = m.npu.paths;
  v("ddr_read", r.ddrRead);
  v("ddr_write", r.ddrWrite);
  v("l2_read", r.l2Read);
  v("l2_write", r.l2Write);
  v("l1_to_l0a", r.l1ToL0a);
  v("l1_to_l0b", r.l1ToL0b);
  v("l1_to_ub", r.l1ToUb);
  v("ub_to_l1", r.ubToL1);
  v("l0c_to_ub", r.l0cToUb);
  v("ub_to_l2", r.ubToL2);
  v("ub_to_ddr", r.ubToDdr);
}

template <class M, class V>
void limits(M& m, V&& v) {
  auto& l = m.npu.limits;
  v("stride_hw", l.strideHw);
  v("stride_d", l.strideD);
  v("dilation_hw", l.dilationHw);
  v("dilation_d", l.dilationD);
  v("pad", l.pad);
  v("kernel_hw", l.kernelHw);
}

void append(std::string& broken, const std::string& prefix, const std::string& rules) {
  std::istringstream lines(rules);
  lines.exceptions(std::ios::badbit);  // where memory ends
  for (std::string line; std::getline(lines, line);) broken += (broken.empty() ? "" : "\n") + prefix + line;
}

void readCubes(const Json& list, Machine& m, std::string& broken) {
  for (const Json& entry : list) {
    if (!entry.is_object()) {
      append(broken, "", "'cubes' must list objects {type, m, k, n, cycles}");
      continue;
    }
    ObjectReader reader(entry);
    MatrixProduct cube;
    std::string type;
    reader.string("type", type, true);
    reader.integer("m", cube.shape.m);
    reader.integer("k", cube.shape.k);
    reader.integer("n", cube.shape.n);
    reader.number("cycles", cube.cycles);
    if (const auto known = parseDType(type); known.ok())
      cube.operand = *known;
    else if (!type.empty())
      reader.fail("'type': " + toReword(known.error()).message);
    append(broken, "cubes: ", reader.broken());
    if (!m.npu.cube.products.add(cube)) {
      append(broken, "", "'cubes' must list at most " + std::to_string(MatrixProducts::kMost) + " types");
      return;
    }
  }
}

// A whole number of the file as an int; `broken` says so if it is none.
int narrow(const char* key, std::int64_t value, std::string& broken) {
  constexpr std::int64_t kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  if (value < kLeast || value > kMost)
    append(broken, "",
           std::string(key) + " = " + std::to_string(value) + " must be a whole number from -2^31 to 2^31 - 1");
  return static_cast<int>(std::clamp(value, kLeast, kMost));
}

}  // namespace

Result<Machine> machineFromJson(const std::string& text) {
  CUBEJIT_TRY(json, parseObject(text, "the machine", Stage::kPlan));
  Machine m;
  ObjectReader reader(json);
  std::int64_t cores = 0, vectorCores = 0, architecture = 0;
  std::string schema = "cubejit.machine/1";
  reader.string("schema", schema);
  if (schema != "cubejit.machine/1") reader.fail("'schema' = '" + schema + "' must be cubejit.machine/1");
  reader.string("name", m.name, true);
  reader.string("product", m.npu.product);
  reader.integer("architecture", architecture, false);
  reader.integer("cores", cores);
  reader.integer("vector_cores", vectorCores, false);
  reader.number("mhz", m.npu.mhz);
  reader.integer("memory_bytes", m.npu.memoryBytes, false);
  reader.boolean("fixpipe", m.npu.fixpipe);
  sizes(m, [&](const char* key, std::int64_t& to) { reader.integer(key, to); });
  std::string inner;
  if (const Json* list = reader.inner("cubes", true)) readCubes(*list, m, inner);
  if (const Json* object = reader.inner("rates", false)) {
    ObjectReader r(*object);
    rates(m, [&](const char* key, double& to) { r.number(key, to); });
    append(inner, "rates: ", r.broken());
  }
  if (json.contains("limits")) {
    if (const Json* object = reader.inner("limits", false)) {
      ObjectReader r(*object);
      limits(m, [&](const char* key, std::int64_t& to) { r.integer(key, to, false); });
      append(inner, "limits: ", r.broken());
    }
  }
  std::string broken = reader.broken();
  append(broken, "", inner);
  m.cores = narrow("cores", cores, broken);
  m.npu.vectorCores = narrow("vector_cores", vectorCores, broken);
  m.npu.architecture = narrow("architecture", architecture, broken);
  if (broken.empty()) {
    for (const std::string& rule : checkMachine(m)) append(broken, "", rule);
  }
  if (!broken.empty()) return invalidInput(broken, Stage::kPlan);
  return m;
}

std::string machineToJson(const Machine& m) {
  Json json{{"schema", "cubejit.machine/1"},
            {"name", m.name},
            {"product", m.npu.product},
            {"architecture", m.npu.architecture},
            {"cores", m.cores},
            {"vector_cores", m.npu.vectorCores},
            {"mhz", m.npu.mhz},
            {"memory_bytes", m.npu.memoryBytes},
            {"fixpipe", m.npu.fixpipe}};
  sizes(m, [&](const char* key, std::int64_t value) { json[key] = value; });
  json["cubes"] = Json::array();
  for (const MatrixProduct& cube : m.npu.cube.products)
    json["cubes"].push_back({{"type", toString(cube.operand)},
                             {"m", cube.shape.m},
                             {"k", cube.shape.k},
                             {"n", cube.shape.n},
                             {"cycles", cube.cycles}});
  rates(m, [&](const char* key, double value) { json["rates"][key] = value; });
  limits(m, [&](const char* key, std::int64_t value) { json["limits"][key] = value; });
  return oneLine(json);
}

Result<Machine> readMachine(const std::string& nameOrFile) {
  return withoutThrowing(Stage::kPlan, [&]() -> Result<Machine> {
    const bool file = nameOrFile.find_first_of("/.") != std::string::npos;
    if (!file) return machineByName(nameOrFile);
    CUBEJIT_TRY(text, readText(nameOrFile, "a machine as one JSON object", Stage::kPlan));
    auto machine = machineFromJson(text);
    if (machine.ok()) return machine;
    return Error{machine.error().code, Stage::kPlan, printable(nameOrFile) + ":\n" + machine.error().message};
  });
}

}  // namespace cubejit
