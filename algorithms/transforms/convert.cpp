// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the moves of a conversion. Both layouts are cut into pieces on which they are linear; of a piece's dimensions, the one
// that is contiguous in the source and the one that is contiguous in the target make the matrix of a move, the others are loops.
#include "algorithms/transforms/convert.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/kit/lower/data_gradient.h"

namespace cubejit {
namespace {

// A run of coordinates on which both maps are linear; elements.
struct Piece {
  std::int64_t from = 0, to = 0, length = 1, fromStep = 0, toStep = 0, zerosBehind = 0;
  std::int64_t first = 0;  ///< coordinate
};

std::int64_t unitStep(const IndexMap& map, std::size_t axis) {
  for (const Digit& d : map.digits[axis]) {
    if (d.unit == 1 && d.stride != 0) return d.stride;
  }
  return 0;
}

// Elements of the target's last block behind coordinate `last`.
std::int64_t zerosBehind(const IndexMap& map, std::size_t axis, std::int64_t last) {
  for (const Digit& d : map.digits[axis]) {
    if (d.unit == 1 && d.stride == 1) return d.extent - 1 - last % d.extent;
  }
  return 0;
}

std::vector<Piece> piecesOf(const Conversion& c, std::size_t axis, std::int64_t lo, std::int64_t hi) {
  const std::int64_t fromStep = unitStep(c.from, axis), toStep = unitStep(c.to, axis);
  const auto oneDigit = [&](const IndexMap& map) {
    return map.digits[axis][0].extent >= map.extent[axis] && map.digits[axis][0].unit == 1;
  };
  std::vector<Piece> pieces;
  if (oneDigit(c.from) && oneDigit(c.to)) {
    pieces.push_back({c.from.along(axis, lo), c.to.along(axis, lo), hi - lo, fromStep, toStep, 0, lo});
  } else {
    for (std::int64_t i = lo; i < hi; ++i) {
      const std::int64_t from = c.from.along(axis, i), to = c.to.along(axis, i);
      if (!pieces.empty() && from == pieces.back().from + pieces.back().length * fromStep &&
          to == pieces.back().to + pieces.back().length * toStep)
        ++pieces.back().length;
      else
        pieces.push_back({from, to, 1, fromStep, toStep, 0, i});
    }
  }
  if (axis == 1 && c.to.groups == 1 && hi == c.to.extent[axis])
    pieces.back().zerosBehind = zerosBehind(c.to, axis, hi - 1);
  return pieces;
}

struct Dimension {
  std::int64_t length = 1, fromStep = 0, toStep = 0;
};

// Whether no two elements of a view are neighbours in memory.
bool liesApart(const IndexMap& map) {
  bool several = false;
  for (std::size_t axis = 0; axis < 5; ++axis) {
    if (map.extent[axis] == 1) continue;
    if (unitStep(map, axis) == 1) return false;
    several = true;
  }
  return several;
}

// The channel axes of one call: a piece of each.
struct Block {
  Piece outer, channels;
};

class Converter {
 public:
  Converter(ProgramBuilder& b, const Conversion& c, int lanes) : b_(b), c_(c), lanes_(lanes) {}

  void run() {
    for (const std::int64_t extent : c_.from.extent) {
      if (extent == 0) return;
    }
    findBlocks();
    findSpace();
    chooseMatrix();
    evenOut();
    emit();
  }

 private:
  bool finishes() const { return c_.epilogue != nullptr; }
  std::int64_t in() const { return elementBytes(c_.fromType); }
  std::int64_t out() const { return elementBytes(c_.toType); }

  void findBlocks() {
    const std::int64_t groups = c_.from.groups;
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto part = [&](std::size_t axis, std::int64_t i) { return c_.from.extent[axis] / groups * i; };
      const bool cut = groups > 1;
      for (const Piece& outer : piecesOf(c_, 0, cut ? part(0, g) : 0, cut ? part(0, g + 1) : c_.from.extent[0])) {
        for (const Piece& channels : piecesOf(c_, 1, cut ? part(1, g) : 0, cut ? part(1, g + 1) : c_.from.extent[1]))
          blocks_.push_back({outer, channels});
      }
    }
  }

  // Spatial axes, outermost first; neighbours that are dense in both maps are one.
  void findSpace() {
    for (std::size_t axis = 2; axis < 5; ++axis) {
      const Dimension d{c_.from.extent[axis], c_.from.digits[axis][0].stride, c_.to.digits[axis][0].stride};
      if (d.length == 1) continue;
      if (!space_.empty() && space_.back().fromStep == d.length * d.fromStep &&
          space_.back().toStep == d.length * d.toStep) {
        space_.back() = Dimension{space_.back().length * d.length, d.fromStep, d.toStep};
      } else {
        space_.push_back(d);
      }
    }
  }

  // Dimensions by number: 0 outer, 1 channels, 2 ... space.
  Dimension dimension(const Block& block, std::size_t i) const {
    if (i == dimensions()) return {};  // a line of one element
    if (i >= 2) return space_[i - 2];
    const Piece& p = i == 0 ? block.outer : block.channels;
    return {p.length, p.fromStep, p.toStep};
  }
  std::size_t dimensions() const { return 2 + space_.size(); }

  std::int64_t longest(std::size_t i) const {
    std::int64_t most = 0;
    for (const Block& block : blocks_) most = std::max(most, dimension(block, i).length);
    return most;
  }

  void chooseMatrix() {
    const auto contiguous = [&](bool target) {
      std::size_t best = dimensions();
      for (std::size_t i = 0; i < dimensions(); ++i) {
        const Dimension d = dimension(blocks_.front(), i);
        if ((target ? d.toStep : d.fromStep) == 1 && (best == dimensions() || longest(i) > longest(best))) best = i;
      }
      return best;
    };
    if (liesApart(c_.from)) {  // element by element, the longest dimension in one move
      line_ = dimensions();
      across_ = 0;
      for (std::size_t i = 1; i < dimensions(); ++i) {
        if (longest(i) > longest(across_)) across_ = i;
      }
      return;
    }
    const bool pads =
        std::any_of(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.channels.zerosBehind > 0; });
    const std::size_t source = contiguous(false);
    line_ = pads ? 1 : contiguous(true);
    if (line_ == dimensions()) line_ = source == dimensions() ? 1 : source;
    transposes_ = source != line_ && source != dimensions() && longest(source) > 1;
    across_ = transposes_ ? source : dimensions();
    if (transposes_) return;
    // The rows are a dimension that continues lines at both ends, so that the copy is one dense row; else the longest of the others.
    const Dimension line = dimension(blocks_.front(), line_);
    const auto rank = [&](std::size_t i) {
      const Dimension d = dimension(blocks_.front(), i);
      const bool continues =
          line.fromStep == 1 && line.toStep == 1 && d.fromStep == line.length && d.toStep == line.length;
      return std::pair(continues && longest(i) > 1, longest(i));
    };
    for (std::size_t i = 0; i < dimensions(); ++i) {
      if (i != line_ && (across_ == dimensions() || rank(i) > rank(across_))) across_ = i;
    }
  }

  // Pieces of unequal length can be matrices, but not loops: outside the matrix they are taken one by one.
  void evenOut() {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const auto piece = [&](Block& block) -> Piece& { return i == 0 ? block.outer : block.channels; };
      const bool even =
          std::all_of(blocks_.begin(), blocks_.end(), [&](Block& b) { return piece(b).length == longest(i); });
      if (i == line_ || i == across_ || even) continue;
      std::vector<Block> single;
      for (const Block& block : blocks_) {
        for (std::int64_t j = 0; j < dimension(block, i).length; ++j) {
          Block one = block;
          Piece& p = piece(one);
          p = Piece{p.from + j * p.fromStep, p.to + j * p.toStep, 1, p.fromStep, p.toStep, p.zerosBehind, p.first + j};
          single.push_back(one);
        }
      }
      blocks_ = std::move(single);
    }
  }

  // The matrix of `length` of dimension `across_` by all of dimension `line_`, whose elements are neighbours in the target.
  Kernel moveFor(const Block& block, std::int64_t length) const {
    const Dimension line = dimension(block, line_), across = dimension(block, across_);
    Copy move{.lanes = lanes_,
              .padCols = line_ == 1 ? block.channels.zerosBehind : 0,
              .from = c_.fromType,
              .to = c_.toType,
              .label = c_.name};
    // A line whose elements are not neighbours in the source is a column of it.
    const bool column = transposes_ || (line.fromStep != 1 && line.length > 1);
    if (column && !transposes_) {  // one column at a time
      move.rows = line.length;
      move.cols = 1;
      move.srcPitch = line.fromStep * in();
      move.dstPitch = (line.length + move.padCols) * out();
      return turned(move);
    }
    move.rows = column ? line.length : length;
    move.cols = column ? length : line.length;
    move.srcPitch = (column ? line.fromStep : across.fromStep) * in();
    move.dstPitch = collectedPitch_ > 0 ? collectedPitch_ : across.toStep * out();
    if (collectedPitch_ > 0) move.prefetchAhead = kPagesAhead;
    if (column) return turned(move);
    stream(move);
    return move;
  }

  // The innermost of the loops around the matrices; dimensions() if there is none.
  std::size_t lastLoop() const {
    std::size_t last = dimensions();
    for (std::size_t i = 0; i < dimensions(); ++i) {
      if (i != line_ && i != across_ && longest(i) > 1) last = i;
    }
    return last;
  }

  bool columnByColumn() const {
    const Dimension line = dimension(blocks_.front(), line_);
    return !transposes_ && line.fromStep != 1 && longest(line_) > 1;
  }

  // Whether pixels whose channels lie in blocks become pixels whose channels lie side by side, or the other way round: one end's lines
  // have elements of several blocks.
  bool blocksShareLines() const {
    return !transposes_ && line_ == 1 && across_ >= 2 && blocks_.size() > 1 &&
           longest(line_) * std::min(in(), out()) < kOwnLines;
  }

  // `channel`: from where other axes led to.
  AxisDeltas moved(std::int64_t from, std::int64_t to, std::int64_t channel) const {
    AxisDeltas step{{source_, from * in()}, {sink_, to * out()}};
    if (finishes()) step.push_back(c_.epilogue->toChannel(channel));
    return step;
  }

  void emit() {
    b_.beginPhase(c_.name);
    source_ = b_.addStream("from", c_.source);
    sink_ = b_.addStream("to", c_.sink);
    if (finishes()) c_.epilogue->enterPhase();
    const bool single = columnByColumn();
    const std::int64_t lineLength = std::max<std::int64_t>(1, longest(line_));
    // Both ends of a move stay in the L1 and L2 caches; those of all blocks do, if blocks share lines of memory.
    const bool shared = blocksShareLines();
    const std::int64_t together = lineLength * (shared ? static_cast<std::int64_t>(blocks_.size()) : 1);
    const std::int64_t piece = single ? 1 : std::max<std::int64_t>(16, kMostElements / together);
    std::vector<std::pair<Piece, Piece>> kinds;
    const auto classOf = [&](const Block& block) {
      const auto shape = [](Piece p) {
        p.from = p.to = p.first = 0;
        return p;
      };
      const auto same = [](const Piece& x, const Piece& y) {
        return x.length == y.length && x.fromStep == y.fromStep && x.toStep == y.toStep &&
               x.zerosBehind == y.zerosBehind;
      };
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (same(kinds[i].first, block.outer) && same(kinds[i].second, block.channels)) return static_cast<int>(i);
      }
      kinds.emplace_back(shape(block.outer), shape(block.channels));
      return static_cast<int>(kinds.size()) - 1;
    };
    const int blockAxis = b_.addAxis("block");
    for (const Block& block : blocks_)
      b_.addStep(
          blockAxis,
          moved(block.outer.from + block.channels.from, block.outer.to + block.channels.to, block.channels.first),
          classOf(block));
    b_.phase().axes[static_cast<std::size_t>(blockAxis)].classes = static_cast<int>(kinds.size());

    // Dimension across: pieces of it. Its length may differ between blocks (channel pieces): then one piece takes all.
    const Dimension across = dimension(blocks_.front(), across_);
    const bool uniform = across_ >= 2 || std::all_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
                           return dimension(block, across_).length == across.length;
                         });
    const std::int64_t acrossPiece = uniform ? std::min(piece, across.length) : longest(across_);
    // A small matrix is no task: the last loop is taken in runs, each for all blocks. A run's rows stay open on both sides: where
    // one end has them apart, the other has them side by side.
    const std::size_t last = lastLoop();
    small_ = lineLength * acrossPiece <= kSmallMatrix && last < dimensions() &&
             divisorAtMost(longest(last), kLongestRun) >= kShortestRun;
    if (small_) run_ = divisorAtMost(longest(last), kLongestRun);
    // Rows that are far apart in the target, and filled bit by bit, push each other out of the cache: they are collected first.
    if (small_ && uniform && acrossPiece == across.length && collects(last) && !finishes())
      collectedPitch_ = run_ * dimension(blocks_.front(), last).toStep * out() + 64;
    // Very many pieces are taken in runs: two axes, of runs and of a run's pieces, have few steps where one would have many.
    const std::int64_t reach = uniform ? across.length : acrossPiece, pieces = ceilDiv(reach, acrossPiece),
                       perRun = pieces <= kMostPieces ? pieces : kPiecesOfRun, runs = ceilDiv(pieces, perRun);
    const int pieceClasses = runs * perRun > pieces ? 3 : 2;
    const std::int64_t runLength = perRun * acrossPiece, lastRun = (runs - 1) * runLength;
    std::vector<int> pieceAxes;
    const auto addPieces = [&](const char* name, int classes, std::int64_t count, std::int64_t length,
                               const auto& classAt) {
      pieceAxes.push_back(b_.addAxis(name, classes));
      for (std::int64_t at = 0; at < count * length; at += length)
        b_.addStep(pieceAxes.back(), moved(at * across.fromStep, at * across.toStep, across_ == 1 ? at : 0),
                   classAt(at));
    };
    if (runs > 1) addPieces("piece_run", 2, runs, runLength, [&](std::int64_t at) { return at == lastRun ? 1 : 0; });
    // In the last run a piece is whole (class 0), shorter (1) or not there (2); in all others pieces are whole.
    addPieces("piece", pieceClasses, perRun, acrossPiece, [&](std::int64_t at) {
      return lastRun + at + acrossPiece <= reach ? 0 : lastRun + at < reach ? 1 : 2;
    });

    Call call{c_.name, source_, -1, sink_, {blockAxis}, {}};
    call.classAxes.insert(call.classAxes.end(), pieceAxes.begin(), pieceAxes.end());
    for (const auto& [outer, channels] : kinds) {
      const Block block{outer, channels};
      for (int run = runs > 1 ? 0 : 1; run < 2; ++run) {
        for (int cls = 0; cls < pieceClasses; ++cls) {
          const int left = run == 0 ? 0 : cls;
          const std::int64_t length = left == 0   ? uniform ? acrossPiece : dimension(block, across_).length
                                      : left == 1 ? reach % acrossPiece
                                                  : 0;
          Variant v;
          if (length > 0 && !(left == 1 && !uniform)) v.kernel = b_.addKernel(moveFor(block, length));
          call.variants.push_back(v);
        }
      }
    }
    // The other dimensions are loops. Outer and channel pieces that are not in the matrix are of one length for all blocks:
    // both maps are linear along them only if nothing cuts them.
    std::vector<int> loops;
    const auto addLoop = [&](const char* suffix, std::size_t i, std::int64_t count, std::int64_t each) {
      const Dimension d = dimension(blocks_.front(), i);
      const int axis = b_.addAxis("dim" + std::to_string(i) + suffix);
      for (std::int64_t j = 0; j < count; ++j)
        b_.addStep(axis, moved(j * each * d.fromStep, j * each * d.toStep, i == 1 ? j * each : 0));
      return axis;
    };
    for (std::size_t i = 0; i < last; ++i) {
      if (i != line_ && i != across_ && longest(i) > 1) loops.push_back(addLoop("", i, longest(i), 1));
    }
    std::vector<int> inner;
    if (small_) {
      loops.push_back(addLoop("_run", last, longest(last) / run_, run_));
      if (collectedPitch_ == 0) inner = {blockAxis, addLoop("", last, run_, 1)};
    } else {
      if (last < dimensions()) loops.push_back(addLoop("", last, longest(last), 1));
      if (shared)
        inner = {blockAxis};
      else
        loops.insert(loops.begin(), blockAxis);
    }
    std::vector<Node> body;
    if (collectedPitch_ > 0) {
      body = collected(std::move(call), blockAxis, last);
    } else {
      if (finishes())
        body = c_.epilogue->storing(std::move(call), line_ == 1     ? StoredChannels::kColumns
                                                     : across_ == 1 ? StoredChannels::kLines
                                                                    : StoredChannels::kNone);
      else
        body.push_back(callNode(std::move(call)));
      body = nest(inner, std::move(body));
    }
    Phase& phase = b_.phase();
    phase.parallelAxes = std::move(loops);
    phase.parallelAxes.insert(phase.parallelAxes.end(), pieceAxes.begin(), pieceAxes.end());
    phase.body = std::move(body);
    double elements = 1;
    for (const std::int64_t extent : c_.from.extent) elements *= static_cast<double>(extent);
    phase.workCycles = elements / static_cast<double>(c_.from.groups) * static_cast<double>(in() + out()) / 10.0;
  }

  // A copy whose rows are whole vectors, wherever the loops begin, is stored past the caches if the conversion prefetches for it.
  void stream(Copy& copy) const {
    const std::int64_t vector = lanes_ * 4 / out();  // elements
    const auto whole = [&](std::int64_t elements) { return elements % vector == 0; };
    if (!c_.streams || copy.padCols > 0 || !whole(copy.cols) || (out() == 2 && copy.from != copy.to)) return;
    for (std::size_t i = 0; i < dimensions(); ++i) {
      const std::int64_t together = i == lastLoop() && collectedPitch_ > 0 ? run_ : 1;
      if (i != line_ && longest(i) > 1 && !whole(dimension(blocks_.front(), i).toStep * together)) return;
    }
    for (const Block& block : blocks_) {
      if (!whole(block.outer.to + block.channels.to)) return;
    }
    copy.streamingStore = true;
    if (out() == 4) return;
    copy.from = copy.to = Element::kF32;  // words go two at a time
    copy.cols /= 2;
  }

  // Whether a run along `last` is one piece of memory in the target, for each of the matrix' far rows.
  bool collects(std::size_t last) const {
    const auto joins = [&](const Block& block) {
      return dimension(block, last).toStep ==
             dimension(block, line_).length + (line_ == 1 ? block.channels.zerosBehind : 0);
    };
    return transposes_ && dimension(blocks_.front(), across_).toStep * out() >= kFarRows &&
           std::all_of(blocks_.begin(), blocks_.end(), joins);
  }

  // A run of matrices is made in a private panel, then copied row by row.
  std::vector<Node> collected(Call call, int blockAxis, std::size_t last) {
    const Dimension run = dimension(blocks_.front(), last), across = dimension(blocks_.front(), across_);
    const int panel =
        b_.addStream("panel", b_.addBuffer("panel", Buffer::Use::kPrivate, across.length * collectedPitch_));
    const int within = b_.addAxis("run");
    for (std::int64_t j = 0; j < run_; ++j)
      b_.addStep(within, {{source_, j * run.fromStep * in()}, {panel, j * run.toStep * out()}});
    call.c = panel;
    const Element word = out() == 2 ? Element::kHalf : Element::kF32;
    Copy copy{.lanes = lanes_,
              .rows = across.length,
              .cols = run_ * run.toStep,
              .srcPitch = collectedPitch_,
              .dstPitch = across.toStep * out(),
              .from = word,
              .to = word,
              .label = c_.name + "_rows"};
    stream(copy);
    Call rows{c_.name + "_rows", panel, -1, sink_, {}, {Variant{b_.addKernel(copy), -1, false}}};
    return {loopNode(blockAxis, {loopNode(within, {callNode(std::move(call))}), callNode(std::move(rows))})};
  }

  // Each repetition of a run reads a page of its own: four of them are as far ahead as memory is away.
  static constexpr int kPagesAhead = 4;
  static constexpr std::int64_t kFarRows = 1024;
  static constexpr std::int64_t kOwnLines = 256;  ///< bytes; blocks of more have few lines in common
  static constexpr std::int64_t kMostElements = 16384, kSmallMatrix = 1024, kShortestRun = 8, kLongestRun = 64;
  static constexpr std::int64_t kMostPieces = 4096, kPiecesOfRun = 256;

  ProgramBuilder& b_;
  const Conversion& c_;
  const int lanes_;
  std::vector<Block> blocks_;
  std::vector<Dimension> space_;
  std::size_t line_ = 0, across_ = 0;
  bool transposes_ = false;
  bool small_ = false;
  std::int64_t run_ = 1;             ///< steps of the last loop that a task takes for all blocks
  std::int64_t collectedPitch_ = 0;  ///< > 0: matrices are collected in a panel with rows this many bytes apart
  int source_ = -1, sink_ = -1;
};

}  // namespace

void addConversion(ProgramBuilder& b, const Conversion& c, int lanes) {
  // Channel tails of blocked activations are written with their block; weights have whole rows and groups that stand for nothing.
  const bool weights = c.to.groups > 1 || c.to.digits[0][0].extent != c.to.extent[0];
  if (c.to.padded && (weights || liesApart(c.from)))
    addZeroPhase(b, c.sink, c.to.elements * elementBytes(c.toType), lanes);
  Converter(b, c, lanes).run();
}

TileProgram conversionProgram(const Problem& from, const Problem& to, TensorId t, int lanes, bool streams) {
  const DType fromType = formatOf(from, t).dtype, toType = formatOf(to, t).dtype;
  ProgramBuilder b(std::string("convert_") + toString(t) + "_" + toString(fromType) + "_" +
                   toString(formatOf(from, t).layout) + "_to_" + toString(toType) + "_" +
                   toString(formatOf(to, t).layout));
  // HF32 is a rounding of operands: memory holds f32, and what is taken from it for later use is rounded now.
  const bool rounds = isHf32(fromType) && toType == DType::kF32;
  const Element read = storedElement(fromType);
  const Element written = elementOf(rounds ? fromType : toType);
  Conversion c{.name = "convert",
               .from = indexMap(from, t),
               .to = indexMap(to, t),
               .fromType = read,
               .toType = written,
               .streams = streams};
  c.source = b.addBuffer("from", Buffer::Use::kInput, formatBytes(from, t));
  c.sink = b.addBuffer("to", Buffer::Use::kOutput, formatBytes(to, t));
  b.bufferAt(c.source).element = read;
  b.bufferAt(c.sink).element = storedElement(toType);
  addConversion(b, c, lanes);
  return b.finish();
}

}  // namespace cubejit
