// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tensor and which extent takes whose place.
#include "algorithms/kit/adjoint.h"

#include <cctype>
#include <string_view>
#include <utility>

namespace cubejit {
namespace {

constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"dy", "x"}, {"dx", "y"}};

bool inWord(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

}  // namespace

Problem adjointOf(const Problem& problem) {
  Problem adjoint = problem;
  std::swap(adjoint.cin, adjoint.cout);
  std::swap(adjoint.in, adjoint.out);
  adjoint.transposed = !problem.transposed;
  const auto at = [](TensorId t) { return static_cast<std::size_t>(t); };
  adjoint.formats = {};
  adjoint.postOps = {};
  adjoint.formats[at(TensorId::kDy)] = problem.formats[at(TensorId::kX)];
  adjoint.formats[at(TensorId::kW)] = problem.formats[at(TensorId::kW)];
  adjoint.formats[at(TensorId::kDx)] = problem.formats[at(TensorId::kY)];
  return adjoint;
}

TilingPlan asData(TilingPlan forward) {
  forward.pass = Pass::kDx;
  return forward;
}

TilingPlan asForward(TilingPlan data) {
  data.pass = Pass::kY;
  return data;
}

std::string inForwardWords(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && inWord(text[end])) ++end;
    std::string_view word(text.data() + at, end - at);
    for (const auto& [from, to] : kWords) {
      if (word == from) {
        word = to;
        break;
      }
    }
    out += word;
    if (end < text.size()) out += text[end++];
    at = end;
  }
  return out;
}

std::vector<std::string> inForwardWords(std::vector<std::string> rules) {
  for (std::string& rule : rules) rule = inForwardWords(rule);
  return rules;
}

Error inForwardWords(Error error) {
  error.message = inForwardWords(error.message);
  return error;
}

Tensors adjointTensors(const Tensors& tensors) {
  Tensors adjoint;
  adjoint.dy = tensors.x;
  adjoint.w = tensors.w;
  adjoint.dx = tensors.y;
  adjoint.packedW = tensors.packedW;
  return adjoint;
}

}  // namespace cubejit
