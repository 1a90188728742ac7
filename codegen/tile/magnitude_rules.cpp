// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which numbers a program may hold so that every address and count that is made of them fits into 64 bits: programs come from texts, too,
// and the other rules add and multiply without asking.
#include <algorithm>
#include <type_traits>

#include "codegen/tile/matrix.h"
#include "codegen/tile/rules.h"

namespace cubejit {
namespace {

// An address is a sum of one product for each axis around a call and a few of the kernel's: fewer than 2^8.
constexpr std::int64_t kMostMagnitude = std::int64_t{1} << 54;
constexpr std::size_t kMostParallel = 64;
constexpr std::int64_t kMostOfBlock = 128;  // rows and tiles of a block on a matrix unit: other rules allow fewer

class Magnitudes {
 public:
  std::vector<std::string> run(const TileProgram& p) {
    for (const Buffer& b : p.buffers) number(b.bytes, "buffer " + b.name);
    std::int64_t outerStep = 0;
    for (std::size_t k = 0; k < p.kernels.size(); ++k) {
      where_ = "kernel " + std::to_string(k);
      std::visit([&](const auto& kernel) { outerStep = std::max(outerStep, numbersOf(kernel)); }, p.kernels[k]);
    }
    for (std::size_t l = 0; l < p.lists.size(); ++l) {
      where_ = "list " + std::to_string(l);
      for (const auto& section : p.lists[l]) {
        for (const Segment& s : section) {
          numbers({s.aOffset, s.bOffset});
          product(s.outer, outerStep);
        }
      }
    }
    for (const Phase& ph : p.phases) phase(ph);
    return std::move(rules_);
  }

 private:
  void number(std::int64_t value, const std::string& what) {
    if (value > kMostMagnitude || value < -kMostMagnitude)
      rules_.push_back(what + ": " + std::to_string(value) + " is not in [-2^54, 2^54]");
  }
  void numbers(std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) number(value, where_);
  }
  void product(std::int64_t count, std::int64_t step) {
    std::int64_t all = 0;
    number(count, where_);
    if (__builtin_mul_overflow(count, step, &all) || all > kMostMagnitude || all < -kMostMagnitude)
      rules_.push_back(where_ + ": " + std::to_string(count) + " times " + std::to_string(step) +
                       " is not in [-2^54, 2^54]");
  }

  // The largest step from one iteration of a segment to the next.
  std::int64_t numbersOf(const Contract& c) {
    std::int64_t most = 0;
    number(c.pairPitchB, where_);
    for (const Section& s : c.sections) most = std::max(most, steps(s.aOuterStep, s.bOuterStep));
    return most;
  }
  std::int64_t numbersOf(const TileProduct& p) {
    numbers({p.rows, p.cols, p.pairs, p.tileRows});
    for (const std::int64_t distance : {p.aPitch, p.bPitch, p.cPitch, p.aTile, p.bTile, p.cTile})
      product(kMostOfBlock, distance);
    return steps(p.aStep, p.bStep);
  }
  std::int64_t numbersOf(const MatrixKernel auto& m) {
    for (const MatrixLines& matrix : {sourceOf(m), targetOf(m)}) {
      numbers({matrix.columns, matrix.pitch});
      product(matrix.lines, matrix.pitch);
    }
    number(m.rows, where_);
    if constexpr (OneOf<std::decay_t<decltype(m)>, Copy, Transpose>) numbers({m.padCols, m.pairPitch, m.pairsCut});
    if constexpr (OneOf<std::decay_t<decltype(m)>, Map>) {
      number(m.padCols, where_);
      product(m.rows, m.dRow);
      product(m.cols, m.dColumn);
      product(m.rows, m.bRow);
      product(m.cols, m.bColumn);
    }
    const ListSteps list = listSteps(m).value_or(ListSteps{});
    return steps(list.a, list.c);
  }
  std::int64_t steps(std::int64_t x, std::int64_t y) {
    numbers({x, y});
    const std::int64_t least = std::min({x, y, std::int64_t{0}}), most = std::max(x, y);
    return least < -kMostMagnitude ? kMostMagnitude : std::max(most, -least);
  }

  void phase(const Phase& ph) {
    for (const Stream& s : ph.streams) number(s.offset, "phase " + ph.name + ": stream " + s.name);
    std::int64_t tasks = 1;
    for (const int a : ph.parallelAxes) {
      if (a < 0 || static_cast<std::size_t>(a) >= ph.axes.size()) continue;
      where_ = "phase " + ph.name + ": tasks";
      const auto steps = static_cast<std::int64_t>(ph.axes[static_cast<std::size_t>(a)].steps.size());
      product(tasks, steps);
      if (__builtin_mul_overflow(tasks, steps, &tasks)) tasks = kMostMagnitude;
    }
    if (ph.parallelAxes.size() > kMostParallel)
      rules_.push_back("phase " + ph.name + ": " + std::to_string(ph.parallelAxes.size()) + " parallel axes");
    for (const Axis& a : ph.axes) {
      where_ = "phase " + ph.name + ": axis " + a.name;
      for (const AxisStep& step : a.steps) {
        for (const std::int64_t delta : step.delta) number(delta, where_);
        for (const std::int64_t delta : step.repeatDelta) product(step.repeat, delta);
        number(step.repeat, where_);
      }
    }
    nodes(ph.body);
  }

  void nodes(const std::vector<Node>& body) {
    for (const Node& node : body) {
      nodes(node.body);
      if (!node.isCall()) continue;
      where_ = "call " + node.call.name;
      for (std::size_t s = 0; s < node.call.place.offset.size(); ++s) {
        number(node.call.place.offset[s], where_);
        product(node.call.place.repeat, node.call.place.repeatStep[s]);
      }
    }
  }

  std::string where_;
  std::vector<std::string> rules_;
};

}  // namespace

std::vector<std::string> magnitudeRules(const TileProgram& program) { return Magnitudes().run(program); }

}  // namespace cubejit
