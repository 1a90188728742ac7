// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how calls are put into loops: which bytes a step of each loop moves an operand, which variant is called where a tile is a shorter
// one, and buffers, kernels and lists of the program. Leaves what to call to lang/lower.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/lang/places.h"
#include "codegen/lang/source.h"
#include "cubejit/result.h"

namespace cubejit::lang {

/// Numbers of each index that a call sees.
using Sizes = std::function<std::int64_t(int index)>;

struct Made {
  Kernel kernel;
  std::optional<SegmentList> list{};
  double cycles = 0;        ///< of a core, about
  bool accumulate = false;  ///< to what is there
};

struct NewCall {
  std::string name;
  std::optional<Place> a{}, b{}, c{}, d{};
  std::vector<int> within;  ///< indices that the kernel goes over
  std::vector<int> around;  ///< loops over all numbers of indices around it, outermost first
};

class Nest {
 public:
  /// Values of the kernel are laid out; those that are added are, for vectors of `lanes`.
  Nest(Source source, int lanes) : k_(std::move(source)), lanes_(lanes) { program_.name = k_.name; }

  const Source& source() const { return k_; }
  const Index& index(int i) const { return k_.indices[static_cast<std::size_t>(i)]; }
  const Tensor& tensor(int t) const { return k_.tensors[static_cast<std::size_t>(t)]; }
  Place placeOf(const Access& access) const { return lang::placeOf(k_, access); }

  /// A value for each combination of the indices, the last of which is contiguous and filled up to whole vectors; see Tensor::packed. In a
  /// loop it is the thread's.
  Access addValue(const std::string& name, const std::vector<int>& indices, Element element = Element::kF32,
                  int packed = -1);
  /// The same with a vector for each combination.
  Access addVectors(const std::string& name, const std::vector<int>& indices);

  void beginPhase(const std::string& name);
  void enter(int index);
  void leave();
  /// The same of an index that has no loop in the kernel.
  void enterTiles(int index, std::int64_t tile);
  void leaveTiles();
  bool inLoop() const { return !loops_.empty(); }

  /// What a kernel that goes over these indices sees: each combination of whole and shorter tiles, the whole ones first.
  std::vector<Sizes> variants(const std::vector<int>& within) const;
  /// Makes a kernel for each of them.
  void call(const NewCall& call, const std::function<Made(const Sizes&)>& make);

  TileProgram take() { return std::move(program_); }
  /// What could not be made, if anything.
  const std::optional<Error>& failure() const { return failure_; }
  void fail(std::string message, ErrorCode code = ErrorCode::kUnsupported);

 private:
  struct Loop {
    int index, axis;
  };
  Access addDimensions(const std::string& name, const std::vector<int>& indices);
  int bufferOf(int tensor);
  Phase& phase() { return program_.phases.back(); }
  int addAxis(const std::string& name, std::int64_t steps, int classes);
  /// A stream that such loops move so; the place's offset is the call's.
  int streamOf(const Place& place, const std::vector<Loop>& around);
  bool hasTail(int index) const { return this->index(index).extent % this->index(index).tile != 0; }
  int axisOf(int index) const;
  /// How many numbers an index's steps go over: by class of the loop whose tile it goes over, if there is one.
  std::vector<std::int64_t> spansOf(int index) const;
  std::vector<int> tailed(const std::vector<int>& within) const;  ///< those whose last tile is shorter
  int kernelOf(Kernel kernel);
  int listOf(const std::optional<SegmentList>& list);

  Source k_;
  const int lanes_;
  TileProgram program_;
  std::vector<int> buffers_;  ///< by tensor; -1: none yet
  std::vector<std::map<int, std::int64_t>>
      moved_;  ///< by stream of the phase: bytes a step of those axes that were asked about
  std::vector<Loop> loops_;
  std::vector<std::vector<Node>> bodies_;
  std::int64_t steps_ = 0;
  int values_ = 0;
  std::optional<Error> failure_;
};

}  // namespace cubejit::lang
