// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the words. Coordinates are those of the example call; how they move with a loop is said as a multiple of its index.
#include "runtime/dump/explain.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "codegen/vector/op_table.h"

namespace cubejit {
namespace {

const Buffer& bufferOf(const KernelStory& s, int index) { return s.program.buffers[static_cast<std::size_t>(index)]; }

std::string plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// A lane of a dot product holds two elements: the one that is named, and its partner beside it.
constexpr const char* kPartners = ", and the product of their partners";
constexpr const char* kThreePartners = ", and the products of the three numbers behind them";
// A tile is named after its first row's first element.
constexpr const char* kTiles = ", rows by columns of the tiles that begin there";

class Phrases {
 public:
  explicit Phrases(const KernelStory& s) : s_(s), held_(32) {
    for (const AccumulatorFact& acc : s.annotation.accumulators)
      result_[static_cast<std::size_t>(acc.reg)] = text(s, acc.result);
  }

  std::vector<std::string> run() {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < s_.vector.code.size(); ++i) out.push_back(phrase(i));
    return out;
  }

 private:
  std::string touched(std::size_t i) const {
    const auto& touch = s_.annotation.touches[i];
    return touch ? text(s_, *touch) : "";
  }
  bool isCopy(std::size_t i) const { return s_.annotation.touches[i]->base == PointerBase::kD; }
  // What a register holds, as far as it is known: a result, or what was loaded last.
  std::string held(int reg) const {
    const auto r = static_cast<std::size_t>(reg);
    return !result_[r].empty() ? result_[r] : !held_[r].empty() ? held_[r] : letter_ + std::to_string(reg);
  }
  const std::string& result(int reg) const { return result_[static_cast<std::size_t>(reg)]; }

  std::string phrase(std::size_t index) {
    const VInstr& i = s_.vector.code[index];
    const OpRow& row = rowOf(i.op);
    const std::string at = touched(index);
    std::string said;
    switch (i.op) {
      case VOp::kLoop: return loopPhrase(index);
      case VOp::kFma: said = sum(i, held(i.src1) + " * " + held(i.src2)); break;
      case VOp::kFmaLoad:
      case VOp::kFmaBroadcast: said = sum(i, held(i.src1) + " * " + at); break;
      case VOp::kDot: said = sum(i, held(i.src1) + " * " + held(i.src2) + kPartners); break;
      case VOp::kDotLoad:
      case VOp::kDotBroadcast: said = sum(i, held(i.src1) + " * " + at + kPartners); break;
      case VOp::kDotI8: said = sum(i, held(i.src1) + " * " + held(i.src2) + kThreePartners); break;
      case VOp::kDotI8Load: said = sum(i, held(i.src1) + " * " + at + kThreePartners); break;
      case VOp::kTileDotBf16:
      case VOp::kTileDotF16: said = sum(i, held(i.src1) + " * " + held(i.src2) + kTiles); break;
      case VOp::kTileZero:
      case VOp::kZero: said = result(i.dst).empty() ? "" : result(i.dst) + " = 0"; break;
      case VOp::kPrefetch: return at.empty() ? "" : "asks for " + at;
      case VOp::kLoadScalar:
      case VOp::kAddLoad: return listPhrase(index);
      default:
        if (at.empty()) break;
        if (row.mem == MemUse::W) return (isCopy(index) ? "a copy of " : "") + at + " is written";
        said = result(i.dst).empty() ? letter_ + std::to_string(i.dst) + " = " + at : at + " so far";
    }
    if (isVector(row.dst) || isTile(row.dst)) {
      const bool loads = row.mem == MemUse::R && !readsDst(i);
      held_[static_cast<std::size_t>(i.dst)] = loads ? at : "";
    }
    return said;
  }

  std::string sum(const VInstr& i, const std::string& product) const {
    return (result(i.dst).empty() ? letter_ + std::to_string(i.dst) : result(i.dst)) + " += " + product;
  }

  std::string loopPhrase(std::size_t index) const {
    for (std::size_t l = 0; l < s_.annotation.trace.loops.size(); ++l) {
      if (s_.annotation.trace.loops[l].begin == static_cast<std::int32_t>(index)) return loopLines(s_)[l];
    }
    return "";
  }

  std::string listPhrase(std::size_t index) const {
    const VInstr& i = s_.vector.code[index];
    if (i.op == VOp::kLoadScalar) return i.mem.disp == 16 ? "how often the segment repeats" : "number of segments";
    return i.mem.disp == 0 ? "where this segment begins in A" : "where this segment begins in B";
  }

  const KernelStory& s_;
  /// Registers with operands and sums are called by it and their number.
  const std::string letter_ =
      std::holds_alternative<TileProduct>(s_.program.kernels[static_cast<std::size_t>(s_.kernel)]) ? "t" : "v";
  std::array<std::string, 32> result_;
  std::vector<std::string> held_;
};

// "3..9" over all lists the kernel is called with.
std::string range(std::int64_t low, std::int64_t high) {
  return low == high ? std::to_string(low) : std::to_string(low) + ".." + std::to_string(high);
}

std::string segmentsText(const KernelStory& s, const LoopFact& loop) {
  std::int64_t low = loop.trips, high = loop.trips;
  for (const int list : s.annotation.use.lists) {
    const SegmentList& sections = s.program.lists[static_cast<std::size_t>(list)];
    if (loop.section < 0 || static_cast<std::size_t>(loop.section) >= sections.size()) continue;
    const auto& section = sections[static_cast<std::size_t>(loop.section)];
    if (loop.source == TripSource::kSegments) {
      low = std::min(low, static_cast<std::int64_t>(section.size()));
      high = std::max(high, static_cast<std::int64_t>(section.size()));
    } else {
      for (const Segment& segment : section) {
        low = std::min(low, segment.outer);
        high = std::max(high, segment.outer);
      }
    }
  }
  return low == high ? "" : ", " + range(low, high) + " in all calls";
}

std::string times(std::int64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

}  // namespace

std::string text(const KernelStory& s, const Touch& touch) {
  if (touch.padding) return "zero padding";
  if (!touch.isTensor) {
    const Place& p = touch.place;
    return p.buffer < 0 ? "" : bufferOf(s, p.buffer).name + "+" + std::to_string(p.offset);
  }
  const Buffer& buffer = bufferOf(s, touch.buffer);
  const ElementAxes axes = s.elements.axesOf(buffer).value();
  // A loop that changes several coordinates at once wraps around in memory: no multiple of its index says where.
  const auto wraps = [&](int loop) {
    return std::count_if(touch.moves.begin(), touch.moves.end(), [&](const auto& m) { return m.loop == loop; }) > 1;
  };
  std::string inside, wrapped;
  for (std::size_t a = 0; a < touch.at.size(); ++a) {
    if (axes.extent[a] == 1 && !axes.positional) continue;
    inside += (inside.empty()    ? ""
               : axes.positional ? ", "
                                 : " ") +
              (axes.positional ? "" : axes.names[a]) + std::to_string(touch.at[a]);
    if (touch.laneAxis == static_cast<int>(a)) {
      inside += ".." + std::to_string(touch.at[a] + (touch.lanes - 1) * touch.laneStride);
      if (touch.laneStride != 1) inside += ":" + std::to_string(touch.laneStride);
    }
    for (const Touch::Move& move : touch.moves) {
      if (move.axis != static_cast<int>(a) || wraps(move.loop)) continue;
      const std::int64_t size = move.by < 0 ? -move.by : move.by;
      inside += std::string(move.by < 0 ? "-" : "+") + (size == 1 ? "" : std::to_string(size) + "*") + "i" +
                std::to_string(move.loop);
    }
  }
  for (std::size_t m = 0; m < touch.moves.size(); ++m) {
    const bool first = m == 0 || touch.moves[m - 1].loop != touch.moves[m].loop;
    if (first && wraps(touch.moves[m].loop)) wrapped += ", on with i" + std::to_string(touch.moves[m].loop);
  }
  return buffer.name + "[" + inside + wrapped + "]";
}

std::vector<std::string> phrases(const KernelStory& story) { return Phrases(story).run(); }

std::vector<std::string> loopLines(const KernelStory& s) {
  std::vector<std::string> out;
  const KernelUse& use = s.annotation.use;
  for (std::size_t l = 0; l < s.annotation.trace.loops.size(); ++l) {
    const LoopFact& loop = s.annotation.trace.loops[l];
    std::string line = "i" + std::to_string(l) + ": ";
    switch (loop.source) {
      case TripSource::kConstant: line += times(loop.trips); break;
      case TripSource::kRepeat:
        line += times(loop.trips) + ", repetitions of the whole";
        if (use.fewestRepeats != use.mostRepeats)
          line += ", " + range(use.fewestRepeats, use.mostRepeats) + " in all calls";
        break;
      case TripSource::kAccumulate:
        line += loop.trips == 0 ? "not in this call: takes in what C holds" : "once: takes in what C holds";
        break;
      case TripSource::kSegments:
        line += times(loop.trips) + ", segments of section " + std::to_string(loop.section) + segmentsText(s, loop);
        break;
      case TripSource::kOuter:
        line += times(loop.trips) + ", steps of a segment of section " + std::to_string(loop.section) +
                segmentsText(s, loop);
        break;
      case TripSource::kUnknown: line += "as often as the list says"; break;
    }
    out.push_back(line);
  }
  return out;
}

std::vector<std::string> headLines(const KernelStory& s) {
  std::vector<std::string> out;
  const KernelUse& use = s.annotation.use;
  const Kernel& kernel = s.program.kernels[static_cast<std::size_t>(s.kernel)];
  const std::string kind =
      std::visit(overloaded{[](const Contract& k) {
                              return "a contract, " + (k.sets > 1 ? std::to_string(k.sets) + " sets of " : "") +
                                     plural(static_cast<std::int64_t>(k.accumulators.size()), "accumulator") + " of " +
                                     std::to_string(k.lanes) + " lanes";
                            },
                            [](const TileProduct& k) {
                              return "a tile product, " + std::to_string(k.rows) + " x " + std::to_string(k.cols) +
                                     " sums in " + plural(k.rowTiles() * k.columnTiles(), "tile");
                            },
                            [](const MatrixKernel auto&) { return std::string("a move"); }},
                 kernel);
  out.push_back(s.program.name + ", kernel k" + std::to_string(s.kernel) + " " + labelOf(kernel) + ": " + kind);
  if (use.calls == 0) {
    out.push_back("never called");
    return out;
  }
  out.push_back("called " + std::string(use.truncated ? "at least " : "") + times(use.calls) +
                "; what follows is call " + use.callName + " of phase " + use.phaseName + ", task " +
                std::to_string(use.moment.task));
  static constexpr std::array<const char*, 3> kNames{"A", "B", "C"};
  const bool isMove = !multiplies(kernel);
  for (std::size_t o = 0; o < 3; ++o) {
    const Place& at = use.at[o];
    if (at.buffer < 0) continue;
    const Buffer& buffer = bufferOf(s, at.buffer);
    std::string line = std::string(kNames[o]) + " = " + buffer.name + " + " + std::to_string(at.offset) + " bytes";
    for (const auto& touch : s.annotation.touches) {
      if (!touch || touch->base != static_cast<PointerBase>(o + 1) || !touch->isTensor || touch->buffer == at.buffer)
        continue;
      line += isMove || o != 2 ? ", holds elements of " : ", on its way to ";
      line += bufferOf(s, touch->buffer).name;
      break;
    }
    out.push_back(line);
  }
  for (const AccumulatorFact& acc : s.annotation.accumulators)
    out.push_back(std::string(std::holds_alternative<TileProduct>(kernel) ? "t" : "v") + std::to_string(acc.reg) +
                  " sums " + text(s, acc.result));
  for (const std::string& line : loopLines(s)) out.push_back("loop " + line);
  return out;
}

ListingNotes notesOf(const KernelStory& story) { return {&story.vector, headLines(story), phrases(story)}; }

}  // namespace cubejit
