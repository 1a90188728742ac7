// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how texts refer to buffers, streams, axes, queues and units: by name, or as @N where the name is an earlier part's too, or is no part's at all.
#pragma once

#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/text/reader.h"
#include "codegen/text/writer.h"
#include "codegen/tile/program.h"

namespace cubejit {

/// Begins what an axis' step says of classes, so that no stream is called that.
inline constexpr const char* kClassWord = "class";

class PartNames {
 public:
  PartNames() = default;
  template <class Part>
  explicit PartNames(const std::vector<Part>& parts) {
    for (const Part& part : parts) add(part.name);
  }
  void add(const std::string& name) {
    numbers_.emplace(name, static_cast<int>(names_.size()));
    names_.push_back(name);
  }

  std::string text(int part) const {
    if (part >= 0 && static_cast<std::size_t>(part) < names_.size()) {
      const std::string& name = names_[static_cast<std::size_t>(part)];
      if (numbers_.at(name) == part && name != kClassWord) return nameText(name);
    }
    return "@" + std::to_string(part);
  }

  /// The number of the part that is named there.
  int read(TextReader& in, const char* what) const {
    if (in.takeSymbol("@")) return in.integerOf<int>("a number");
    const std::string name = in.name(what);
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    in.fail("expected " + std::string(what) + "; none is called " + nameText(name.substr(0, 64)));
    return -1;
  }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> numbers_;  // of the first of each name
};

/// The parts of a program that others refer to.
struct ProgramNames {
  PartNames buffers, queues, units;
  ProgramNames() = default;
  explicit ProgramNames(const TileProgram& p) : buffers(p.buffers), units(p.units) {
    for (const std::string& queue : p.queues) queues.add(queue);
  }
};

/// By UnitFlag::Kind.
inline constexpr const char* kFlagWords[] = {"set", "wait", "barrier"};

}  // namespace cubejit
