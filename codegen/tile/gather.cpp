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

// A matrix by its lines in the destination.
struct MatrixGather {
  std::int64_t lines = 0, fromPitch = 0, toPitch = 0;
  std::int64_t padding = 0;  ///< zeros behind each line
  GatherLine line{};         ///< the first
  Element from = Element::kF32, to = Element::kF32;
};
MatrixGather linesOf(const Copy& m) {
  return {m.rows, m.srcPitch, m.dstPitch, m.padCols, {0, 0, m.cols, elementBytes(m.from), false}, m.from, m.to};
}
MatrixGather linesOf(const Transpose& m) {
  const std::int64_t in = elementBytes(m.from);
  return {m.cols, in, m.dstPitch, m.padCols, {0, 0, m.rows, m.rows > 1 ? m.srcPitch : in, false}, m.from, m.to};
}
MatrixGather linesOf(const Fill& m) {
  return {m.rows, 0, m.dstPitch, 0, {0, 0, m.cols, 0, true}, m.element, m.element};
}
MatrixGather linesOf(const Accumulate& m) { return {m.rows, m.srcPitch, m.dstPitch, 0, {0, 0, m.cols, 4, false}}; }

bool isLine(Element from) { return from != Element::kPair && elementBytes(from) > 1; }  // zeros have two bytes or more
bool isGather(const Copy& m) { return !m.streamingStore && m.prefetchAhead == 0 && isLine(m.from) && isLine(m.to); }
bool isGather(const Transpose& m) { return m.prefetchAhead == 0 && isLine(m.from) && isLine(m.to); }
bool isGather(const OneOf<Fill, Accumulate> auto&) { return true; }

void appendMatrix(const MatrixGather& m, std::int64_t a, std::int64_t c, std::vector<GatherLine>& lines) {
  const std::int64_t in = elementBytes(m.from), out = elementBytes(m.to);
  GatherLine line = m.line;
  for (std::int64_t i = 0; i < m.lines; ++i) {
    line.to = c + i * m.toPitch;
    if (!line.zero) line.from = a + i * m.fromPitch;
    append(lines, line, in, out);
    append(lines, {line.to + line.count * out, 0, m.padding, 0, true}, in, out);
  }
}

// Segments of one line whose repetitions follow each other on both sides are one line.
bool denseRepetitions(const MatrixGather& m, const ListSteps& steps) {
  const std::int64_t in = elementBytes(m.from);
  return m.lines == 1 && m.padding == 0 && steps.c == m.line.count * elementBytes(m.to) &&
         (m.line.zero || (m.line.step == in && steps.a == m.line.count * in));
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

// For a gather that keeps bits: the same with elements of 16 bits.
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
  explicit WriterLines(const GatherWriter& w)
      : writer(w), bytes(elementBytes(w.gather->to)), lines_(w.gather->lines.data()), count_(w.gather->lines.size()) {}

  const GatherWriter writer;
  const std::int64_t bytes;  ///< of an element

  /// The line that holds the byte; null: none, and the next one begins at `next()`.
  const GatherLine* at(std::int64_t byte) {
    const std::int64_t here = byte - writer.to;
    if (at_ < count_ && lines_[at_].to <= here && begins(at_ + 1) > here) {
      ++at_;
    } else if (begins(at_) <= here || (at_ > 0 && lines_[at_ - 1].to > here)) {
      at_ = static_cast<std::size_t>(
          std::upper_bound(lines_, lines_ + count_, here,
                           [](std::int64_t b, const GatherLine& line) { return b < line.to; }) -
          lines_);
    }
    if (at_ == 0) return nullptr;
    const GatherLine& line = lines_[at_ - 1];
    return here < line.to + line.count * bytes ? &line : nullptr;
  }
  std::int64_t next() const { return at_ < count_ ? lines_[at_].to + writer.to : kNowhere; }

  static constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();

 private:
  std::int64_t begins(std::size_t line) const { return line < count_ ? lines_[line].to : kNowhere; }

  const GatherLine* lines_;
  std::size_t count_;
  std::size_t at_ = 0;  // the first line behind the byte last asked for
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
    for (std::size_t i = 0; i < reader_.lines.size();) {
      const std::size_t done = compose(i);
      if (done == 0) return std::nullopt;
      i += done;
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
  static constexpr std::size_t kMostSideBySide = 64;  // those beyond are looked at again

  // A byte of the reader's source: the writer's line, and how many bytes of it nobody has written later.
  struct Found {
    WriterLines* writer = nullptr;
    const GatherLine* line = nullptr;  // null: nobody wrote it
    std::int64_t offset = 0, bytes = std::numeric_limits<std::int64_t>::max();
  };

  // Sources of elements of lines that lie side by side: of the first line `step` apart, and `across` from line to line.
  struct Strip {
    std::int64_t index = 0, count = 1, from = 0, step = 0, across = 0;
    bool zero = false;
  };

  // Lines from the `first`th on; how many, 0 if it cannot be done.
  std::size_t compose(std::size_t first) {
    const GatherLine& line = reader_.lines[first];
    first_ = lines_.size();
    if (line.zero) {
      append(lines_, line, in_, out_);
      return 1;
    }
    if (line.step == in_ || line.count == 1) return copy(line.to, line.from, line.count * in_) ? 1 : 0;
    if (const std::size_t lines = sideBySide(first); lines > 0) return lines;
    for (std::int64_t i = 0; i < line.count; ++i) {
      if (!copy(line.to + i * out_, line.from + i * line.step, in_)) return 0;
    }
    return 1;
  }

  // Lines that begin element by element behind each other, as those of a transposed matrix: writers are asked for the first one only.
  std::size_t sideBySide(std::size_t first) {
    const GatherLine& line = reader_.lines[first];
    std::size_t lines = 1;
    for (; lines < kMostSideBySide && first + lines < reader_.lines.size(); ++lines) {
      const GatherLine& next = reader_.lines[first + lines];
      if (next.zero || next.count != line.count || next.step != line.step ||
          next.from != line.from + static_cast<std::int64_t>(lines) * in_)
        break;
    }
    strips_.clear();
    for (std::int64_t i = 0; i < line.count; ++i) {
      const Found found = find(line.from + i * line.step);
      if (found.line == nullptr || !addStrip(found, i)) return 0;
      lines = std::min(lines, static_cast<std::size_t>(elements(found.bytes)));
    }
    for (std::size_t i = 0; i < lines; ++i) {
      first_ = lines_.size();
      for (const Strip& s : strips_) {
        const std::int64_t to = reader_.lines[first + i].to + s.index * out_;
        if (s.zero)
          append(lines_, {to, 0, s.count, 0, true}, sourceBytes_, out_);
        else
          add({to, s.from + static_cast<std::int64_t>(i) * s.across, s.count, s.count == 1 ? sourceBytes_ : s.step,
               false});
      }
    }
    return lines;
  }

  bool addStrip(const Found& found, std::int64_t index) {
    const GatherLine& line = *found.line;
    Strip strip{index, 1, 0, 0, 0, line.zero};
    if (line.zero) {
      if (reader_.adds) return false;
    } else {
      const Gather& g = *found.writer->writer.gather;
      const bool plain = g.keepsBits() && (line.step == found.writer->bytes || line.count == 1);
      if (!agrees(g) || !(plain || (found.writer->bytes == in_ && whole(found.offset)))) return false;
      strip.across = plain ? in_ : line.step;
      strip.from = line.from + found.writer->writer.from + (plain ? found.offset : elements(found.offset) * line.step);
    }
    if (!strips_.empty() && strips_.back().zero == strip.zero && strips_.back().across == strip.across) {
      Strip& last = strips_.back();
      const std::int64_t step = last.count == 1 ? strip.from - last.from : last.step;
      if (strip.zero || (step > 0 && strip.from == last.from + last.count * step)) {
        last.step = step;
        ++last.count;
        return true;
      }
    }
    strips_.push_back(strip);
    return true;
  }

  Found find(std::int64_t from) {
    Found found;
    for (WriterLines& writer : writers_) {
      found.writer = &writer;
      found.line = writer.at(from);
      if (found.line == nullptr) {
        if (writer.next() != WriterLines::kNowhere) found.bytes = std::min(found.bytes, writer.next() - from);
        continue;
      }
      found.offset = from - writer.writer.to - found.line->to;
      found.bytes = std::min(found.bytes, found.line->count * writer.bytes - found.offset);
      break;
    }
    return found;
  }

  // So many contiguous bytes of the reader's source.
  bool copy(std::int64_t to, std::int64_t from, std::int64_t bytes) {
    while (bytes > 0) {
      const Found found = find(from);
      if (found.line == nullptr) return false;
      const std::int64_t most = std::min(bytes, found.bytes),
                         done = found.line->zero ? zero(to, most)
                                                 : piece(to, *found.writer, *found.line, found.offset, most);
      if (done == 0) return false;
      from += done;
      bytes -= done;
      to += elements(done) * out_;
    }
    return true;
  }

  std::int64_t zero(std::int64_t to, std::int64_t bytes) {
    if (!whole(bytes) || reader_.adds) return 0;
    append(lines_, {to, 0, elements(bytes), 0, true}, sourceBytes_, out_);
    return bytes;
  }

  // Adds what a writer's line has from byte `offset` on; how many bytes that were, 0 if it cannot be done.
  std::int64_t piece(std::int64_t to, const WriterLines& writer, const GatherLine& line, std::int64_t offset,
                     std::int64_t bytes) {
    const Gather& g = *writer.writer.gather;
    const std::int64_t element = writer.bytes, inside = offset & (element - 1),
                       index = (offset - inside) >> (element / 2);
    if (!agrees(g)) return 0;
    const std::int64_t base = line.from + writer.writer.from;
    if (g.keepsBits() && (line.step == element || line.count == 1)) {
      if (!whole(bytes)) return 0;
      add({to, base + offset, elements(bytes), in_, false});
      return bytes;
    }
    if (g.keepsBits() && element > in_) bytes = std::min(bytes, element - inside);
    const bool same = element == in_ && inside == 0;
    if (!whole(bytes) || (!same && !(g.keepsBits() && element > in_))) return 0;
    add({to, base + index * line.step + inside, elements(bytes), same && line.count > 1 ? line.step : sourceBytes_,
         false});
    return bytes;
  }

  // Elements of the reader's source have 2 or 4 bytes.
  bool whole(std::int64_t bytes) const { return (bytes & (in_ - 1)) == 0; }
  std::int64_t elements(std::int64_t bytes) const { return bytes >> (in_ / 2); }

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
          step > 0) {
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
  std::vector<Strip> strips_;
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

std::vector<ByteRange> readRanges(const Gather& gather) {
  const std::int64_t bytes = elementBytes(gather.from);
  std::vector<ByteRange> ranges;
  for (const GatherLine& line : gather.lines) {
    if (line.zero) continue;
    const bool whole = line.step == bytes;
    for (std::int64_t i = 0; i < (whole ? 1 : line.count); ++i)
      ranges.push_back({line.from + i * line.step, line.from + i * line.step + bytes * (whole ? line.count : 1)});
  }
  return ranges;
}

// A flag for each element of what a gather reads; sorting them would take longer.
class ElementMap {
 public:
  ElementMap(const ByteRange& hull, std::int64_t bytes)
      : begin_(hull.begin), bytes_(bytes), flags_(static_cast<std::size_t>((hull.end - hull.begin) / bytes)) {}

  /// Buffers of a core are small, tensors may not be.
  static bool holds(const Gather& gather, const ByteRange& hull) {
    constexpr std::int64_t kMost = 1 << 20;
    const std::int64_t bytes = elementBytes(gather.from);
    return hull.end - hull.begin <= kMost &&
           std::all_of(gather.lines.begin(), gather.lines.end(), [&](const GatherLine& line) {
             return line.zero || ((line.from - hull.begin) % bytes == 0 && line.step % bytes == 0);
           });
  }

  void set(const GatherLine& line) {
    const std::int64_t first = (line.from - begin_) / bytes_, step = line.step / bytes_;
    for (std::int64_t i = 0; i < line.count; ++i) flags_[static_cast<std::size_t>(first + i * step)] = 1;
  }

  std::vector<ByteRange> ranges() const {
    std::vector<ByteRange> out;
    for (auto begin = std::find(flags_.begin(), flags_.end(), 1); begin != flags_.end();) {
      const auto end = std::find(begin, flags_.end(), 0);
      out.push_back({begin_ + (begin - flags_.begin()) * bytes_, begin_ + (end - flags_.begin()) * bytes_});
      begin = std::find(end, flags_.end(), 1);
    }
    return out;
  }

 private:
  std::int64_t begin_, bytes_;
  std::vector<char> flags_;
};

}  // namespace

bool Gather::reads() const {
  return std::any_of(lines.begin(), lines.end(), [](const GatherLine& line) { return !line.zero; });
}

std::optional<Gather> gatherOf(const Kernel& kernel, const SegmentList* list) {
  return std::visit(
      overloaded{[&](const OneOf<Copy, Transpose, Fill, Accumulate> auto& m) -> std::optional<Gather> {
                   if (!isGather(m) || m.list.has_value() != (list != nullptr)) return std::nullopt;
                   const MatrixGather matrix = linesOf(m);
                   Gather g{matrix.from, matrix.to, std::holds_alternative<Accumulate>(kernel), m.lanes, {}};
                   if (list == nullptr) appendMatrix(matrix, 0, 0, g.lines);
                   for (const Segment& s : list == nullptr ? std::vector<Segment>{} : list->front()) {
                     MatrixGather each = matrix;
                     const bool dense = denseRepetitions(matrix, *m.list);
                     if (dense) each.line.count *= s.outer;
                     for (std::int64_t i = 0; i < (dense ? std::min<std::int64_t>(1, s.outer) : s.outer); ++i)
                       appendMatrix(each, s.aOffset + i * m.list->a, s.bOffset + i * m.list->c, g.lines);
                   }
                   if (!sortLines(g.lines, elementBytes(g.from), elementBytes(g.to))) return std::nullopt;
                   return g;
                 },
                 [](const OneOf<Contract, TileProduct, LaneReduce, Map> auto&) -> std::optional<Gather> {
                   return std::nullopt;
                 }},
      kernel);
}

std::optional<Gather> compose(const Gather& reader, const std::vector<GatherWriter>& writers) {
  const bool finer = std::any_of(writers.begin(), writers.end(),
                                 [](const GatherWriter& w) { return elementBytes(w.gather->to) == 2; });
  if (finer && reader.keepsBits() && !reader.adds && elementBytes(reader.from) == 4)
    return Composition(halves(reader), writers).run();
  return Composition(reader, writers).run();
}

ByteRange hullRead(const Gather& gather) {
  ByteRange hull;
  for (const GatherLine& line : gather.lines) {
    if (line.zero) continue;
    const std::int64_t last = line.from + (line.count - 1) * line.step;
    const std::int64_t begin = std::min(line.from, last), end = std::max(line.from, last) + elementBytes(gather.from);
    hull = hull.empty() ? ByteRange{begin, end} : ByteRange{std::min(hull.begin, begin), std::max(hull.end, end)};
  }
  return hull;
}

ByteRange hullWritten(const Gather& gather) {
  if (gather.lines.empty()) return {};
  const GatherLine& last = gather.lines.back();
  return {gather.lines.front().to, last.to + last.count * elementBytes(gather.to)};
}

std::vector<ByteRange> bytesRead(const Gather& gather) {
  const std::int64_t bytes = elementBytes(gather.from);
  const ByteRange hull = hullRead(gather);
  if (!ElementMap::holds(gather, hull)) return merged(readRanges(gather));
  ElementMap map(hull, bytes);
  for (const GatherLine& line : gather.lines) {
    if (!line.zero) map.set(line);
  }
  return map.ranges();
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
