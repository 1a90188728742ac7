// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides composition: a line of the reader is cut where the writers' lines end; what is read with a step goes element by element.
#include "codegen/tile/gather.h"

#include <algorithm>
#include <limits>

namespace cubejit {
namespace {

// Appends a line; what continues the last one on both sides becomes part of it.
void append(std::vector<GatherLine>& lines, const GatherLine& line, std::int64_t in, std::int64_t out) {
  if (line.count <= 0) return;
  if (!lines.empty()) {
    GatherLine& last = lines.back();
    const bool adjacent = last.zero == line.zero && last.to + last.count * out == line.to;
    if (adjacent && (line.zero || (last.step == in && line.step == in && last.from + last.count * in == line.from))) {
      last.count += line.count;
      return;
    }
  }
  lines.push_back(line);
}

void appendMatrix(const Move& m, std::int64_t a, std::int64_t c, std::vector<GatherLine>& lines) {
  const std::int64_t in = elementBytes(m.from), out = elementBytes(m.to);
  const bool turned = m.kind == MoveKind::kTranspose, zero = m.kind == MoveKind::kZero;
  const std::int64_t count = turned ? m.rows : m.cols, step = turned && count > 1 ? m.srcPitch : in;
  for (std::int64_t line = 0; line < (turned ? m.cols : m.rows); ++line) {
    const std::int64_t to = c + line * m.dstPitch, from = a + line * (turned ? in : m.srcPitch);
    append(lines, {to, zero ? 0 : from, count, zero ? 0 : step, zero}, in, out);
    append(lines, {to + count * out, 0, m.padCols, 0, true}, in, out);
  }
}

// Segments of one row whose repetitions follow each other on both sides are one line.
bool denseRepetitions(const Move& m) {
  return m.rows == 1 && m.padCols == 0 && m.kind != MoveKind::kTranspose &&
         m.cOuterStep == m.cols * elementBytes(m.to) &&
         (m.kind == MoveKind::kZero || m.aOuterStep == m.cols * elementBytes(m.from));
}

bool sortLines(std::vector<GatherLine>& lines, std::int64_t in, std::int64_t out) {
  const auto before = [](const GatherLine& x, const GatherLine& y) { return x.to < y.to; };
  if (!std::is_sorted(lines.begin(), lines.end(), before)) {
    std::vector<GatherLine> sorted = std::move(lines);
    std::sort(sorted.begin(), sorted.end(), before);
    lines.clear();
    for (const GatherLine& line : sorted) append(lines, line, in, out);
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i - 1].to + lines[i - 1].count * out > lines[i].to) return false;
  }
  return true;
}

// Of a gather that keeps bits: the same with elements of 16 bits.
Gather halves(const Gather& words) {
  Gather g = words;
  g.from = g.to = Element::kHalf;
  g.lines.clear();
  for (const GatherLine& line : words.lines) {
    const bool whole = line.zero || line.step == 4;
    for (std::int64_t i = 0; i < (whole ? 1 : line.count); ++i)
      append(g.lines,
             {line.to + i * 4, line.from + i * line.step, whole ? line.count * 2 : 2, line.zero ? 0 : 2, line.zero}, 2,
             2);
  }
  return g;
}

// Finds lines of a writer by bytes of the reader's source, fast if these follow each other.
class WriterLines {
 public:
  explicit WriterLines(const GatherWriter& writer)
      : writer(writer), lines_(writer.gather->lines), bytes(elementBytes(writer.gather->to)) {}

  /// The line that holds the byte; null: none, and the next one begins at `next()`.
  const GatherLine* at(std::int64_t byte) {
    const std::int64_t here = byte - writer.to;
    if (at_ > 0 && lines_[at_ - 1].to <= here && (at_ == lines_.size() || here < lines_[at_].to)) return holder(here);
    if (at_ < lines_.size() && lines_[at_].to <= here && (at_ + 1 == lines_.size() || here < lines_[at_ + 1].to)) {
      ++at_;
      return holder(here);
    }
    at_ = static_cast<std::size_t>(std::upper_bound(lines_.begin(), lines_.end(), here,
                                                    [](std::int64_t b, const GatherLine& l) { return b < l.to; }) -
                                   lines_.begin());
    return holder(here);
  }
  std::int64_t next() const {
    return at_ < lines_.size() ? lines_[at_].to + writer.to : std::numeric_limits<std::int64_t>::max();
  }

  const GatherWriter writer;

 private:
  const GatherLine* holder(std::int64_t here) const {
    if (at_ == 0) return nullptr;
    const GatherLine& line = lines_[at_ - 1];
    return here < line.to + line.count * bytes ? &line : nullptr;
  }

  const std::vector<GatherLine>& lines_;
  std::size_t at_ = 0;  // the first line behind the byte last asked for

 public:
  const std::int64_t bytes;  ///< of an element
};

class Composition {
 public:
  Composition(const Gather& reader, const std::vector<GatherWriter>& writers)
      : reader_(reader), in_(elementBytes(reader.from)), out_(elementBytes(reader.to)) {
    for (const GatherWriter& writer : writers) writers_.emplace_back(writer);
  }

  std::optional<Gather> run() {
    Gather g;
    g.adds = reader_.adds;
    g.lanes = reader_.lanes;
    g.from = reader_.from;
    g.to = reader_.to;
    for (const GatherLine& line : reader_.lines) {
      first_ = lines_.size();
      if (line.zero) {
        append(lines_, line, in_, out_);
        continue;
      }
      const bool contiguous = line.step == in_ || line.count == 1;
      const std::int64_t pieces = contiguous ? 1 : line.count, bytes = contiguous ? line.count * in_ : in_;
      for (std::int64_t i = 0; i < pieces; ++i) {
        if (!copy(line.to + i * out_, line.from + i * line.step, bytes)) return std::nullopt;
      }
    }
    if (converting_ != nullptr) {
      g.from = converting_->from;
      g.to = converting_->to;
    } else if (reader_.keepsBits() && !reader_.adds) {
      g.from = g.to = in_ == 4 ? Element::kF32 : Element::kHalf;
    }
    g.lines.swap(lines_);
    return g;
  }

 private:
  // So many contiguous bytes of the reader's source.
  bool copy(std::int64_t to, std::int64_t from, std::int64_t bytes) {
    while (bytes > 0) {
      std::int64_t most = bytes;
      const GatherLine* line = nullptr;
      WriterLines* found = nullptr;
      for (WriterLines& writer : writers_) {
        line = writer.at(from);
        found = &writer;
        if (line != nullptr) break;
        most = std::min(most, writer.next() - from);
      }
      if (line == nullptr) return false;
      const std::int64_t offset = from - found->writer.to - line->to;
      most = std::min(most, line->count * found->bytes - offset);
      const std::int64_t done = line->zero ? zero(to, most) : piece(to, *found, *line, offset, most);
      if (done == 0) return false;
      from += done;
      bytes -= done;
      to += done / in_ * out_;
    }
    return true;
  }

  std::int64_t zero(std::int64_t to, std::int64_t bytes) {
    if (bytes % in_ != 0 || reader_.adds) return 0;
    append(lines_, {to, 0, bytes / in_, 0, true}, sourceBytes_, out_);
    return bytes;
  }

  // Of a writer's line, from byte `offset` of it on; how many bytes that were, 0 if it cannot be done.
  std::int64_t piece(std::int64_t to, const WriterLines& writer, const GatherLine& line, std::int64_t offset,
                     std::int64_t bytes) {
    const Gather& g = *writer.writer.gather;
    const std::int64_t element = writer.bytes, index = offset / element, inside = offset % element;
    if (!agrees(g)) return 0;
    const std::int64_t base = line.from + writer.writer.from;
    if (g.keepsBits() && (line.step == element || line.count == 1)) {
      if (bytes % in_ != 0) return 0;
      add({to, base + offset, bytes / in_, in_, false});
      return bytes;
    }
    if (g.keepsBits() && element > in_) bytes = std::min(bytes, element - inside);
    const bool elements = element == in_ && inside == 0;
    if (bytes % in_ != 0 || (!elements && !(g.keepsBits() && element > in_))) return 0;
    add({to, base + index * line.step + inside, bytes / in_, elements && line.count > 1 ? line.step : sourceBytes_,
         false});
    return bytes;
  }

  // All elements are converted alike, and once.
  bool agrees(const Gather& g) {
    if (any_ && (converting_ == nullptr) != g.keepsBits()) return false;
    any_ = true;
    if (g.keepsBits()) return true;
    if (converting_ != nullptr) return converting_->from == g.from && converting_->to == g.to;
    if (!reader_.keepsBits() || reader_.adds || elementBytes(g.to) != in_) return false;
    converting_ = &g;
    sourceBytes_ = elementBytes(g.from);
    return true;
  }

  // Within a line of the reader sources at a constant distance become one line.
  void add(const GatherLine& line) {
    if (lines_.size() > first_ && !lines_.back().zero) {
      GatherLine& last = lines_.back();
      const bool adjacent = last.to + last.count * out_ == line.to;
      const std::int64_t step = last.count == 1 ? line.from - last.from : last.step;
      if (adjacent && (line.count == 1 || line.step == step) && line.from == last.from + last.count * step &&
          step != 0) {
        last.step = step;
        last.count += line.count;
        return;
      }
    }
    GatherLine one = line;
    if (one.count == 1) one.step = sourceBytes_;
    append(lines_, one, sourceBytes_, out_);
  }

  const Gather& reader_;
  const std::int64_t in_, out_;
  std::int64_t sourceBytes_ = in_;  ///< of an element of the composed gather's source
  std::vector<WriterLines> writers_;
  std::vector<GatherLine> lines_;
  std::size_t first_ = 0;  ///< the first line that the reader's current one has become
  const Gather* converting_ = nullptr;
  bool any_ = false;
};

std::vector<ByteRange> merged(std::vector<ByteRange> ranges) {
  const auto before = [](const ByteRange& x, const ByteRange& y) { return x.begin < y.begin; };
  if (!std::is_sorted(ranges.begin(), ranges.end(), before)) std::sort(ranges.begin(), ranges.end(), before);
  std::vector<ByteRange> out;
  for (const ByteRange& r : ranges) {
    if (!out.empty() && r.begin <= out.back().end)
      out.back().end = std::max(out.back().end, r.end);
    else
      out.push_back(r);
  }
  return out;
}

}  // namespace

bool Gather::reads() const {
  return std::any_of(lines.begin(), lines.end(), [](const GatherLine& line) { return !line.zero; });
}

std::optional<Gather> gatherOf(const Move& move, const SegmentList* list) {
  if (move.kind == MoveKind::kLaneSums || move.streamingStore || move.prefetchAhead != 0 || move.pairPitch != 0 ||
      move.pairsCut != 0 || move.from == Element::kPair || move.listed != (list != nullptr))
    return std::nullopt;
  Gather g;
  g.from = move.from;
  g.to = move.to;
  g.adds = move.kind == MoveKind::kAccumulate;
  g.lanes = move.lanes;
  if (move.rows > 0 && move.cols > 0) {
    if (list == nullptr) appendMatrix(move, 0, 0, g.lines);
    for (const Segment& s : list == nullptr ? std::vector<Segment>{} : list->front()) {
      Move matrix = move;
      const bool dense = denseRepetitions(move);
      if (dense) matrix.cols *= s.outer;
      for (std::int64_t i = 0; i < (dense ? std::min<std::int64_t>(1, s.outer) : s.outer); ++i)
        appendMatrix(matrix, s.aOffset + i * move.aOuterStep, s.bOffset + i * move.cOuterStep, g.lines);
    }
  }
  if (!sortLines(g.lines, elementBytes(g.from), elementBytes(g.to))) return std::nullopt;
  return g;
}

std::optional<Gather> compose(const Gather& reader, const std::vector<GatherWriter>& writers) {
  const bool finer = std::any_of(writers.begin(), writers.end(),
                                 [](const GatherWriter& w) { return elementBytes(w.gather->to) == 2; });
  if (finer && reader.keepsBits() && !reader.adds && elementBytes(reader.from) == 4)
    return Composition(halves(reader), writers).run();
  return Composition(reader, writers).run();
}

std::vector<ByteRange> bytesRead(const Gather& gather) {
  const std::int64_t bytes = elementBytes(gather.from);
  std::vector<ByteRange> ranges;
  for (const GatherLine& line : gather.lines) {
    if (line.zero) continue;
    const bool whole = line.step == bytes;
    for (std::int64_t i = 0; i < (whole ? 1 : line.count); ++i)
      ranges.push_back({line.from + i * line.step, line.from + i * line.step + bytes * (whole ? line.count : 1)});
  }
  return merged(std::move(ranges));
}

std::vector<ByteRange> bytesWritten(const Gather& gather) {
  std::vector<ByteRange> ranges;
  for (const GatherLine& line : gather.lines)
    ranges.push_back({line.to, line.to + line.count * elementBytes(gather.to)});
  return merged(std::move(ranges));
}

std::vector<ByteRange> without(const std::vector<ByteRange>& ranges, const std::vector<ByteRange>& others,
                               std::int64_t shift) {
  std::vector<ByteRange> out;
  std::size_t at = 0;
  for (ByteRange r : ranges) {
    while (at < others.size() && others[at].end + shift <= r.begin) ++at;
    for (std::size_t i = at; i < others.size() && others[i].begin + shift < r.end; ++i) {
      if (r.begin < others[i].begin + shift) out.push_back({r.begin, others[i].begin + shift});
      r.begin = std::max(r.begin, others[i].end + shift);
    }
    if (r.begin < r.end) out.push_back(r);
  }
  return out;
}

}  // namespace cubejit
