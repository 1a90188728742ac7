// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which numbers make an NPU that can be planned for.
#include <algorithm>
#include <set>
#include <string_view>

#include "algorithms/kit/rules.h"
#include "cubejit/machines.h"

namespace cubejit {
namespace {

class MachineRules : public Rules {
 public:
  void range(const std::string& field, std::int64_t value, std::int64_t least, std::int64_t most) {
    require(value >= least && value <= most, field + " = " + std::to_string(value) + " must be " +
                                                 std::to_string(least) + " to " + std::to_string(most));
  }
  void positive(const std::string& field, double value) {
    require(value > 0 && value <= 1e6, field + " = " + std::to_string(value) + " must be more than 0 and at most 1e6");
  }
};

// Dumps name folders, symbols and lines of scripts after a machine.
bool isPlain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" ._-+=").find(c) != std::string_view::npos;
  });
}

void checkCubes(const Machine& m, MachineRules& rules) {
  rules.require(!m.npu.cube.products.empty(),
                "cubes must list at least one type; f16, bf16, f32, hf32 and hf32_low are known");
  std::set<DType> seen;
  for (const MatrixProduct& cube : m.npu.cube.products) {
    const std::string name = std::string("cubes.") + toString(cube.operand);
    rules.require(seen.insert(cube.operand).second, name + " is listed twice");
    const std::int64_t channels = m.npu.cube.rowBytes / byteSize(cube.operand);
    rules.require(cube.shape.m == m.npu.cube.rows,
                  name + ".m = " + std::to_string(cube.shape.m) + " must be 16, the rows of a fractal");
    rules.require(cube.shape.n == 16,
                  name + ".n = " + std::to_string(cube.shape.n) + " must be 16, the columns of a fractal");
    rules.require(cube.shape.k == channels, name + ".k = " + std::to_string(cube.shape.k) + " must be " +
                                                std::to_string(channels) + ", the values in 32 bytes");
    rules.positive(name + ".cycles", cube.cycles);
  }
}

}  // namespace

std::vector<std::string> checkMachine(const Machine& m) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
  MachineRules rules;
  rules.require(!m.name.empty(), "name must not be empty");
  rules.require(isPlain(m.name), "name must be of letters, digits, spaces and . _ - + = alone");
  rules.range("cores", m.cores, 1, 4096);
  rules.range("vector_cores", m.npu.vectorCores, 0, 65536);
  rules.positive("mhz", m.npu.mhz);
  const Buffers& b = m.buffers;
  // A fractal of f16 is 512 bytes, one of sums 1024.
  rules.range("l0a_bytes", b.l0aBytes, 512, kMostBytes);
  rules.range("l0b_bytes", b.l0bBytes, 512, kMostBytes);
  rules.range("l0c_bytes", b.l0cBytes, 1024, kMostBytes);
  rules.range("l1_bytes", b.l1Bytes, 1024, kMostBytes);
  rules.range("l2_bytes", b.l2Bytes, 0, kMostBytes);
  rules.range("ub_bytes", b.ubBytes, 1024, kMostBytes);
  rules.range("bt_bytes", b.btBytes, 0, kMostBytes);
  rules.range("fb_bytes", b.fbBytes, 0, kMostBytes);
  rules.range("vector_bytes", m.npu.vectorBytes, 1, 65536);
  checkCubes(m, rules);
  const PathRates& r = m.npu.paths;
  const struct {
    const char* name;
    double rate;
  } rates[] = {{"ddr_read", r.ddrRead},  {"ddr_write", r.ddrWrite}, {"l2_read", r.l2Read},   {"l2_write", r.l2Write},
               {"l1_to_l0a", r.l1ToL0a}, {"l1_to_l0b", r.l1ToL0b},  {"l1_to_ub", r.l1ToUb},  {"ub_to_l1", r.ubToL1},
               {"l0c_to_ub", r.l0cToUb}, {"ub_to_l2", r.ubToL2},    {"ub_to_ddr", r.ubToDdr}};
  for (const auto& rate : rates) rules.positive(std::string("rates.") + rate.name, rate.rate);
  const LoadLimits& l = m.npu.limits;
  const struct {
    const char* name;
    std::int64_t limit;
  } limits[] = {{"stride_hw", l.strideHw},   {"stride_d", l.strideD}, {"dilation_hw", l.dilationHw},
                {"dilation_d", l.dilationD}, {"pad", l.pad},          {"kernel_hw", l.kernelHw}};
  for (const auto& limit : limits) rules.range(std::string("limits.") + limit.name, limit.limit, 1, LoadLimits::kNone);
  return rules.take();
}

}  // namespace cubejit
