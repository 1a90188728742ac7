// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides matrices: lines whose sources are neighbours are rows, lines with a step that begin element by element behind each other are the
// rows of a transposed matrix, and zeros behind a line that is no whole vector are its padding.
#include "codegen/tile/gather_moves.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

namespace cubejit {
namespace {

constexpr std::int64_t kBlock = 8;  ///< rows of a vector that one repetition of a kernel moves
constexpr std::int64_t kReach = std::numeric_limits<std::int32_t>::max() / 4;

// Like matrices that follow each other at one distance.
struct MatrixRun {
  std::int64_t a = 0, c = 0, count = 1, aStep = 0, cStep = 0;
};

class Matrices {
 public:
  explicit Matrices(const Gather& gather) : g_(gather), in_(elementBytes(gather.from)), out_(elementBytes(gather.to)) {}

  std::vector<ListedMatrices> take() {
    for (std::size_t i = 0; i < g_.lines.size();) {
      const GatherLine& line = g_.lines[i];
      if (line.zero) {
        zeros(line);
        ++i;
      } else if (line.step == in_ || line.count == 1) {
        i += rows(line, paddingBehind(i));
      } else {
        i += turned(i);
      }
    }
    std::vector<ListedMatrices> out;
    for (const Group& group : groups_) list(group, out);
    for (auto& [matrix, segments] : blocks_) out.push_back(listMatrices(matrix, segments));
    return out;
  }

 private:
  struct Group {
    ListedMove matrix;
    std::vector<MatrixRun> runs;
  };

  // Zero elements that directly follow a line and are few.
  std::int64_t paddingBehind(std::size_t i) const {
    const GatherLine& line = g_.lines[i];
    if (g_.adds || i + 1 == g_.lines.size() || line.count % g_.lanes == 0 || line.count > g_.lanes) return 0;
    const GatherLine& next = g_.lines[i + 1];
    const bool follows = next.zero && next.to == line.to + line.count * out_;
    return follows && next.count <= g_.lanes ? next.count : 0;
  }

  void add(const ListedMove& m, const MatrixRun& run) {
    const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.matrix == m; });
    std::vector<MatrixRun>& runs = (same == groups_.end() ? groups_.emplace_back(Group{m, {}}) : *same).runs;
    if (!runs.empty()) {
      MatrixRun& last = runs.back();
      const std::int64_t a = run.a - last.a, c = run.c - last.c;
      const bool open = last.count == 1 || (a == last.count * last.aStep && c == last.count * last.cStep);
      if (open && (run.count == 1 || (run.aStep * last.count == a && run.cStep * last.count == c))) {
        if (last.count == 1) {
          last.aStep = a;
          last.cStep = c;
        }
        last.count += run.count;
        return;
      }
    }
    runs.push_back(run);
  }

  // Long rows are cut into vectors.
  template <class M>
  void cut(M m, std::int64_t a, std::int64_t c, std::int64_t aBytes, std::int64_t cBytes) {
    const std::int64_t lanes = m.lanes, vectors = m.cols / lanes, rest = m.cols % lanes;
    if (m.cols <= lanes) return add(m, {a, c});
    m.cols = lanes;
    add(m, {a, c, vectors, lanes * aBytes, lanes * cBytes});
    if (rest == 0) return;
    m.cols = rest;
    add(m, {a + vectors * lanes * aBytes, c + vectors * lanes * cBytes});
  }

  void zeros(const GatherLine& line) {
    const std::int64_t bytes = line.count * out_;
    const Element element = bytes % 4 == 0 ? Element::kF32 : Element::kHalf;
    const std::int64_t size = elementBytes(element);
    cut(Fill{.lanes = g_.lanes, .rows = 1, .cols = bytes / size, .element = element, .label = "forward_zero"}, 0,
        line.to, 0, size);
  }

  std::size_t rows(const GatherLine& line, std::int64_t padding) {
    if (g_.adds)
      cut(Accumulate{.lanes = g_.lanes, .rows = 1, .cols = line.count, .label = "forward"}, line.from, line.to, in_,
          out_);
    else
      cut(Copy{.lanes = g_.lanes,
               .rows = 1,
               .cols = line.count,
               .padCols = padding,
               .from = g_.from,
               .to = g_.to,
               .label = "forward"},
          line.from, line.to, in_, out_);
    return padding > 0 ? 2 : 1;
  }

  // Lines from the `first`th on; how many of them the matrix takes.
  std::size_t turned(std::size_t first) {
    const GatherLine& line = g_.lines[first];
    const std::int64_t padding = paddingBehind(first);
    const std::size_t each = padding > 0 ? 2 : 1;
    std::int64_t cols = 1, pitch = 0;
    for (std::size_t i = first + each; i < g_.lines.size() && !g_.adds; i += each, ++cols) {
      const GatherLine& next = g_.lines[i];
      if (next.zero || next.count != line.count || next.step != line.step || next.from != line.from + cols * in_ ||
          paddingBehind(i) != padding || (cols > 1 && next.to != line.to + cols * pitch))
        break;
      pitch = cols == 1 ? next.to - line.to : pitch;
    }
    if (g_.adds) {
      add(Accumulate{.lanes = g_.lanes,
                     .rows = line.count,
                     .cols = 1,
                     .srcPitch = line.step,
                     .dstPitch = out_,
                     .label = "forward"},
          {line.from, line.to});
      return 1;
    }
    // Two rows of 16 bits that are turned side by side are words: pairs of neighbours.
    if (line.count == 2 && in_ == 2 && g_.keepsBits() && padding == 0 && (cols == 1 || pitch == 4)) {
      cut(Copy{.lanes = g_.lanes,
               .rows = 1,
               .cols = cols,
               .from = Element::kPair,
               .pairPitch = line.step,
               .label = "forward"},
          line.from, line.to, in_, 4);
      return static_cast<std::size_t>(cols);
    }
    add(Transpose{.lanes = g_.lanes,
                  .rows = line.count,
                  .cols = cols,
                  .srcPitch = line.step,
                  .dstPitch = pitch,
                  .padCols = padding,
                  .from = g_.from,
                  .to = g_.to,
                  .label = "forward_turned"},
        {line.from, line.to});
    return static_cast<std::size_t>(cols) * each;
  }

  // A block of a single row's repetitions; nothing if it is no single row.
  static std::optional<ListedMove> blockOf(ListedMove matrix, const MatrixRun& run) {
    const bool single = std::visit(overloaded{[](const Transpose&) { return false; },
                                              [&](Fill& m) {
                                                m.dstPitch = run.cStep;
                                                return std::exchange(m.rows, kBlock) == 1;
                                              },
                                              [&](OneOf<Copy, Accumulate> auto& m) {
                                                m.srcPitch = run.aStep;
                                                m.dstPitch = run.cStep;
                                                return std::exchange(m.rows, kBlock) == 1;
                                              }},
                                   matrix);
    if (!single) return std::nullopt;
    std::visit([&](auto& m) { m.list = ListSteps{kBlock * run.aStep, kBlock * run.cStep}; }, matrix);
    return matrix;
  }

  // Single rows at even distances go in blocks.
  void list(const Group& group, std::vector<ListedMatrices>& out) {
    std::vector<Segment> singles;
    for (const MatrixRun& run : group.runs) {
      const bool near = std::abs(run.aStep) < kReach / kBlock && run.cStep < kReach / kBlock;
      const auto block = run.count >= kBlock && near ? blockOf(group.matrix, run) : std::nullopt;
      const std::int64_t whole = block ? run.count / kBlock : 0;
      if (block) {
        const auto same =
            std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& b) { return b.first == *block; });
        auto& segments = (same == blocks_.end() ? blocks_.emplace_back(*block, std::vector<Segment>{}) : *same).second;
        segments.push_back({run.a, run.c, whole});
      }
      for (std::int64_t i = whole * kBlock; i < run.count; ++i)
        singles.push_back({run.a + i * run.aStep, run.c + i * run.cStep, 1});
    }
    if (!singles.empty()) out.push_back(listMatrices(group.matrix, singles));
  }

  const Gather& g_;
  const std::int64_t in_, out_;
  std::vector<Group> groups_;
  std::vector<std::pair<ListedMove, std::vector<Segment>>> blocks_;
};

}  // namespace

std::vector<ListedMatrices> movesOf(const Gather& gather) { return Matrices(gather).take(); }

}  // namespace cubejit
