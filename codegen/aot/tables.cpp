// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of the table: lists, then phase by phase.
#include "codegen/aot/tables.h"

#include <algorithm>
#include <cctype>

#include "codegen/tile/segment_words.h"

namespace cubejit {
namespace {

class Layouter {
 public:
  explicit Layouter(const TileProgram& program) : p_(program) {}

  AotTables run() {
    for (const SegmentList& list : p_.lists) {
      t_.lists.push_back(here());
      const std::vector<std::int64_t> words = segmentWords(list);
      t_.words.insert(t_.words.end(), words.begin(), words.end());
    }
    for (const Phase& phase : p_.phases) {
      t_.axes.emplace_back();
      for (const Axis& axis : phase.axes) t_.axes.back().push_back(place(axis, phase.streams.size()));
      t_.variants.emplace_back();
      t_.choices.emplace_back();
      calls(phase.body);
    }
    return std::move(t_);
  }

 private:
  std::int64_t here() const { return static_cast<std::int64_t>(t_.words.size()); }
  void push(std::int64_t word) { t_.words.push_back(word); }

  AotTables::AxisPlace place(const Axis& axis, std::size_t streams) {
    AotTables::AxisPlace at;
    at.steps = here();
    for (const AxisStep& step : axis.steps) {
      push(step.cls);
      push(step.repeat);
      for (std::size_t s = 0; s < streams; ++s) push(deltaOf(step.delta, s));
      for (std::size_t s = 0; s < streams; ++s) push(deltaOf(step.repeatDelta, s));
    }
    at.windows = here();
    for (const Window& window : axis.windows) t_.words.insert(t_.words.end(), {window.begin, window.end});
    return at;
  }

  void calls(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (!node.isCall()) {
        if (node.axis < 0) {
          t_.choices.back().push_back(here());
          for (const Window& window : node.windows) t_.words.insert(t_.words.end(), {window.begin, window.end});
        }
        calls(node.body);
        continue;
      }
      t_.variants.back().push_back(here());
      for (const Variant& v : node.call.variants) {
        push(v.kernel);
        push(v.list < 0 ? -1 : t_.lists[static_cast<std::size_t>(v.list)]);
        push(v.accumulate ? 1 : 0);
      }
    }
  }

  const TileProgram& p_;
  AotTables t_;
};

}  // namespace

AotTables aotTables(const TileProgram& program) { return Layouter(program).run(); }

std::string aotPrefix(const std::string& name) {
  std::string prefix;
  for (const char c : name) prefix += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (prefix.empty() || std::isdigit(static_cast<unsigned char>(prefix.front())) != 0) prefix.insert(0, "k_");
  return prefix;
}

std::string aotKernelSymbol(const std::string& prefix, std::size_t index) {
  return prefix + (index < 10 ? "_k0" : "_k") + std::to_string(index);
}

std::string aotConstantSymbol(const std::string& prefix, const Buffer& constant) {
  return aotPrefix(prefix + "_" + constant.name);
}

}  // namespace cubejit
