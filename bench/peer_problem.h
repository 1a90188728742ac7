// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a peer program reads one line of bench/shapes/*.jsonl and counts its work: multiply-adds whose taps fall
// inside the tensor, padding not counted, as `cubejit bench` counts them.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace cubejit::bench {

using Axes = std::array<std::int64_t, 3>;  // depth, height, width

struct PeerProblem {
  std::string name;
  int rank = 3;
  std::int64_t batch = 1, cin = 1, cout = 1, groups = 1;
  Axes in{}, out{}, kernel{}, stride{}, dilation{}, padBefore{}, padAfter{};
};

/// Throws what nlohmann::json throws on a line that is not a problem.
inline PeerProblem parsePeerProblem(const std::string& line) {
  const auto json = nlohmann::json::parse(line);
  PeerProblem p;
  p.name = json.at("name");
  p.rank = json.at("rank");
  p.batch = json.at("n");
  p.cin = json.at("ci");
  p.cout = json.at("co");
  p.groups = json.at("groups");
  p.in = json.at("input");
  p.out = json.at("output");
  p.kernel = json.at("kernel");
  p.stride = json.at("stride");
  p.dilation = json.at("dilation");
  const std::array<std::int64_t, 6> pad = json.at("pad");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    p.padBefore[axis] = pad[2 * axis];
    p.padAfter[axis] = pad[2 * axis + 1];
  }
  return p;
}

/// 2 x multiply-adds of dx or of dw.
inline double flopsOf(const PeerProblem& p) {
  double taps = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::int64_t inside = 0;
    for (std::int64_t k = 0; k < p.kernel[axis]; ++k) {
      for (std::int64_t o = 0; o < p.out[axis]; ++o) {
        const std::int64_t i = o * p.stride[axis] + k * p.dilation[axis] - p.padBefore[axis];
        inside += i >= 0 && i < p.in[axis];
      }
    }
    taps *= static_cast<double>(inside);
  }
  return 2.0 * taps * static_cast<double>(p.batch * p.cout) * static_cast<double>(p.cin / p.groups);
}

}  // namespace cubejit::bench
