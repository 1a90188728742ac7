// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides matrices: lines whose sources are neighbours are rows, lines with a step that begin element by element behind each other are the
// rows of a transposed matrix, and zeros behind a line that is no whole vector are its padding.
#include "codegen/tile/gather_moves.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
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
    Move matrix;
    std::vector<MatrixRun> runs;
  };

  Move matrix(MoveKind kind, std::int64_t rows, std::int64_t cols, Element from, Element to) const {
    Move m;
    m.kind = kind;
    m.lanes = g_.lanes;
    m.rows = rows;
    m.cols = cols;
    m.from = from;
    m.to = to;
    m.label = kind == MoveKind::kZero ? "forward_zero" : kind == MoveKind::kTranspose ? "forward_turned" : "forward";
    return m;
  }
  Move copies(std::int64_t cols) const {
    return matrix(g_.adds ? MoveKind::kAccumulate : MoveKind::kCopy, 1, cols, g_.from, g_.to);
  }

  // Zero elements that directly follow a line and are few.
  std::int64_t paddingBehind(std::size_t i) const {
    const GatherLine& line = g_.lines[i];
    if (g_.adds || i + 1 == g_.lines.size() || line.count % g_.lanes == 0 || line.count > g_.lanes) return 0;
    const GatherLine& next = g_.lines[i + 1];
    const bool follows = next.zero && next.to == line.to + line.count * out_;
    return follows && next.count <= g_.lanes ? next.count : 0;
  }

  void add(const Move& m, const MatrixRun& run) {
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
  void cut(Move m, std::int64_t a, std::int64_t c, std::int64_t aBytes, std::int64_t cBytes) {
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
    cut(matrix(MoveKind::kZero, 1, bytes / size, element, element), 0, line.to, 0, size);
  }

  std::size_t rows(const GatherLine& line, std::int64_t padding) {
    Move m = copies(line.count);
    m.padCols = padding;
    cut(std::move(m), line.from, line.to, in_, out_);
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
      Move m = copies(1);
      m.rows = line.count;
      m.srcPitch = line.step;
      m.dstPitch = out_;
      add(m, {line.from, line.to});
      return 1;
    }
    // Two rows of 16 bits that are turned side by side are words: pairs of neighbours.
    if (line.count == 2 && in_ == 2 && g_.keepsBits() && padding == 0 && (cols == 1 || pitch == 4)) {
      Move pairs = matrix(MoveKind::kCopy, 1, cols, Element::kPair, Element::kF32);
      pairs.pairPitch = line.step;
      cut(std::move(pairs), line.from, line.to, in_, 4);
      return static_cast<std::size_t>(cols);
    }
    Move m = matrix(MoveKind::kTranspose, line.count, cols, g_.from, g_.to);
    m.srcPitch = line.step;
    m.dstPitch = pitch;
    m.padCols = padding;
    add(m, {line.from, line.to});
    return static_cast<std::size_t>(cols) * each;
  }

  // Single rows at even distances go in blocks.
  void list(const Group& group, std::vector<ListedMatrices>& out) {
    std::vector<Segment> singles;
    for (const MatrixRun& run : group.runs) {
      const bool blocks = group.matrix.rows == 1 && group.matrix.kind != MoveKind::kTranspose && run.count >= kBlock &&
                          std::abs(run.aStep) < kReach / kBlock && run.cStep < kReach / kBlock;
      const std::int64_t whole = blocks ? run.count / kBlock : 0;
      if (blocks) {
        Move m = group.matrix;
        m.rows = kBlock;
        m.srcPitch = run.aStep;
        m.dstPitch = run.cStep;
        m.aOuterStep = kBlock * run.aStep;
        m.cOuterStep = kBlock * run.cStep;
        const auto same = std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& b) { return b.first == m; });
        auto& segments = (same == blocks_.end() ? blocks_.emplace_back(m, std::vector<Segment>{}) : *same).second;
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
  std::vector<std::pair<Move, std::vector<Segment>>> blocks_;
};

}  // namespace

std::vector<ListedMatrices> movesOf(const Gather& gather) { return Matrices(gather).take(); }

}  // namespace cubejit
