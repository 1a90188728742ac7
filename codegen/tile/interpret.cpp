// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing beyond contract.h, moves.h and map.h: it is their text as loops.
#include "codegen/tile/interpret.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "codegen/tile/matrix_sums.h"
#include "codegen/tile/moved.h"

namespace cubejit {
namespace {

using Values = std::vector<float>;

bool inside(const LaneRange& range, int lane) { return range.all() || (lane >= range.lo && lane < range.hi); }

float at(const char* base, std::int64_t index) {
  float value = 0;
  std::memcpy(&value, base + index * 4, 4);
  return value;
}

void put(char* base, std::int64_t index, float value) { std::memcpy(base + index * 4, &value, 4); }

Values load(const char* base, const LaneRange& lanes, int count, Element element = Element::kF32,
            std::int64_t pairPitch = 0) {
  Values v(static_cast<std::size_t>(count), 0.0F);
  for (int l = 0; l < count; ++l) {
    if (inside(lanes, l))
      v[static_cast<std::size_t>(l)] = floatOf(readElement(element, base + l * elementBytes(element), pairPitch));
  }
  return v;
}

float addendAt(const char* result, std::int64_t residual, Element element) {
  return floatOf(readElement(element, result + residual, 0));
}

Values operandValue(const Contract& c, const AOperand& operand, const char* a) {
  if (operand.kind == AKind::kOne) return Values(static_cast<std::size_t>(c.lanes), 1.0F);
  if (operand.kind == AKind::kBroadcast) return Values(static_cast<std::size_t>(c.lanes), at(a + operand.offset, 0));
  Values source = load(a + operand.offset, operand.lanes, c.lanes, c.vectorsA);
  if (operand.kind == AKind::kVector) return source;
  if (operand.kind == AKind::kPermute2) {
    const Values second = load(a + operand.offset2, operand.lanes2, c.lanes, c.vectorsA);
    source.insert(source.end(), second.begin(), second.end());
  }
  Values out;
  for (const std::int32_t pick : c.tables[static_cast<std::size_t>(operand.table)])
    out.push_back(source[static_cast<std::size_t>(pick)]);
  return out;
}

// `d` moves behind the copies, if the contract makes some.
void runStep(const Contract& c, const Step& step, const char* a, const char* b, char*& d, std::vector<Values>& acc) {
  std::vector<Values> vectors;
  const std::int64_t pairPitch = step.firstMembers ? 0 : c.pairPitchB;
  for (const VectorLoad& v : step.b) vectors.push_back(load(b + v.offset, v.lanes, c.lanes, c.vectorsB, pairPitch));
  for (std::size_t j = 0; c.copiesB && j < vectors.size(); ++j, d += c.lanes * 4) {
    for (int l = 0; l < c.lanes; ++l) {
      // As a step that takes only first members has them in registers.
      const std::uint32_t word = bitsOf(vectors[j][static_cast<std::size_t>(l)]) & (step.firstMembers ? 0xffffU : ~0U);
      if (inside(step.b[j].lanes, l)) std::memcpy(d + l * 4, &word, 4);
    }
  }
  for (const AOperand& operand : step.a) {
    const Values value = operandValue(c, operand, a);
    for (const Use& use : operand.uses) {
      for (int l = 0; l < c.lanes; ++l) {
        const auto lane = static_cast<std::size_t>(l);
        float& sum = acc[static_cast<std::size_t>(use.acc)][lane];
        if (!inside(operand.useLanes, l)) continue;
        const float factor = vectors[static_cast<std::size_t>(use.b)][lane];
        const std::uint32_t members = step.firstMembers ? 0xffffU : ~0U;
        switch (c.products) {
          case Products::kF32:
            sum = c.combine == Combine::kSum ? std::fma(value[lane], factor, sum) : combined(c.combine, factor, sum);
            break;
          case Products::kPairs: sum = dotPairs(sum, bitsOf(value[lane]) & members, bitsOf(factor) & members); break;
          case Products::kQuads: sum = floatOf(dotQuads(bitsOf(sum), bitsOf(value[lane]), bitsOf(factor))); break;
        }
      }
    }
  }
}

void interpret(const Contract& c, const KernelArgs& args) {
  const auto *a0 = static_cast<const char*>(args.a), *b0 = static_cast<const char*>(args.b);
  auto* c0 = static_cast<char*>(args.c);
  const bool readsD = c.epilogue.readsD(), readsE = c.epilogue.readsE(), quads = c.products == Products::kQuads;
  for (std::int64_t rep = 0; rep < args.repeat; ++rep, a0 += args.aRepeat, b0 += args.bRepeat, c0 += args.cRepeat) {
    const Values identity(static_cast<std::size_t>(c.lanes), identityOf(c.combine));
    std::vector<std::vector<Values>> sets(static_cast<std::size_t>(c.sets),
                                          std::vector<Values>(c.accumulators.size(), identity));
    std::vector<Values>& acc = sets.front();
    for (std::size_t i = 0; args.accumulate != 0 && !c.addsToC && i < acc.size(); ++i)
      acc[i] = load(c0 + c.accumulators[i].cOffset, c.accumulators[i].lanes, c.lanes);
    const std::int64_t* segment = args.list + c.sections.size();
    auto* d = static_cast<char*>(args.d);
    for (std::size_t s = 0; s < c.sections.size(); ++s) {
      const Section& section = c.sections[s];
      for (std::int64_t i = 0; i < args.list[s]; ++i, segment += 3) {
        const char *a = a0 + segment[0], *b = b0 + segment[1];
        for (std::int64_t outer = 0; outer < segment[2]; ++outer, a += section.aOuterStep, b += section.bOuterStep) {
          for (std::size_t k = 0; k < section.steps.size(); ++k)
            runStep(c, section.steps[k], a, b, d, sets[k % sets.size()]);
        }
      }
    }
    for (std::size_t i = 0; i < acc.size(); ++i) {
      for (std::size_t t = 1; t < sets.size(); ++t) {
        for (std::size_t l = 0; l < acc[i].size(); ++l)
          acc[i][l] = quads ? floatOf(bitsOf(acc[i][l]) + bitsOf(sets[t][i][l]))
                            : combined(c.combine, sets[t][i][l], acc[i][l]);
      }
      const Accumulator& to = c.accumulators[i];
      if (args.accumulate != 0 && c.addsToC) {
        const Values before = load(c0 + to.cOffset, to.lanes, c.lanes);
        for (std::size_t l = 0; l < before.size(); ++l) acc[i][l] = combined(c.combine, before[l], acc[i][l]);
      }
      for (int l = 0; l < c.lanes; ++l) {
        if (!inside(to.lanes, l)) continue;
        char* const at = c0 + to.cOffset + l * elementBytes(c.result);
        const float dValue =
                        readsD ? cubejit::at(static_cast<const char*>(args.d) + rep * args.dRepeat + to.dOffset, l) : 0,
                    eValue = readsE && inside(to.live(), l) ? addendAt(at, args.residual, c.result) : 0;
        const float sum = acc[i][static_cast<std::size_t>(l)];
        if (c.keepsInts())
          put(at, 0, sum);
        else
          writeElement(
              c.result, at,
              bitsOf(c.epilogue.evaluate(quads ? static_cast<float>(static_cast<std::int32_t>(bitsOf(sum))) : sum,
                                         dValue, 0, eValue)));
      }
    }
  }
}

// Calls body(src, dst) for each matrix of a call: of its repetitions, or of those of its list's segments.
template <class Body>
void eachMatrix(const std::optional<ListSteps>& list, const KernelArgs& args, const Body& body) {
  const auto repeat = [&](std::int64_t a, std::int64_t c, std::int64_t count, const ListSteps& step) {
    for (std::int64_t i = 0; i < count; ++i)
      body(moved(static_cast<const char*>(args.a), a + i * step.a), static_cast<char*>(args.c) + c + i * step.c);
  };
  if (!list) return repeat(0, 0, args.repeat, {args.aRepeat, args.cRepeat});
  const std::int64_t* segment = args.list + 1;
  for (std::int64_t i = 0; i < args.list[0]; ++i, segment += 3) repeat(segment[0], segment[1], segment[2], *list);
}

void convert(Element from, Element to, const char* source, char* target, std::int64_t pairPitch,
             std::int64_t missing = 0) {
  if (from == to)
    std::memcpy(target, source, static_cast<std::size_t>(elementBytes(to)));
  else
    writeElement(to, target, readElement(from, source, pairPitch, missing));
}

void zero(char* target, std::int64_t bytes) { std::memset(target, 0, static_cast<std::size_t>(bytes)); }

void interpret(const Copy& m, const KernelArgs& args) {
  const std::int64_t in = elementBytes(m.from), out = elementBytes(m.to);
  const bool quads = m.from == Element::kQuad;
  eachMatrix(m.list, args, [&](const char* src, char* dst) {
    for (std::int64_t r = 0; r < m.rows; ++r, dst += m.dstPitch) {
      for (std::int64_t c = 0; c < m.cols; ++c)
        convert(m.from, m.to, moved(src, r * m.srcPitch + c * in), dst + c * out,
                quads || r < m.rows - m.pairsCut ? m.pairPitch : 0, quads && r + 1 == m.rows ? m.pairsCut : 0);
      zero(dst + m.cols * out, m.padCols * out);
    }
  });
}

void interpret(const Transpose& m, const KernelArgs& args) {
  const std::int64_t in = elementBytes(m.from), out = elementBytes(m.to);
  eachMatrix(m.list, args, [&](const char* src, char* dst) {
    for (std::int64_t c = 0; c < m.cols; ++c, dst += m.dstPitch) {
      for (std::int64_t r = 0; r < m.rows; ++r)
        convert(m.from, m.to, moved(src, r * m.srcPitch + c * in), dst + r * out,
                c < m.cols - m.pairsCut ? m.pairPitch : 0);
      zero(dst + m.rows * out, m.padCols * out);
    }
  });
}

void interpret(const Fill& m, const KernelArgs& args) {
  eachMatrix(m.list, args, [&](const char*, char* dst) {
    for (std::int64_t r = 0; r < m.rows; ++r) zero(dst + r * m.dstPitch, m.cols * elementBytes(m.element));
  });
}

void interpret(const Accumulate& m, const KernelArgs& args) {
  eachMatrix(m.list, args, [&](const char* src, char* dst) {
    for (std::int64_t r = 0; r < m.rows; ++r, dst += m.dstPitch) {
      for (std::int64_t c = 0; c < m.cols; ++c) put(dst, c, at(dst, c) + at(src + r * m.srcPitch, c));
    }
  });
}

void interpret(const TileProduct& p, const KernelArgs& args) {
  const auto *a0 = static_cast<const char*>(args.a), *b0 = static_cast<const char*>(args.b);
  auto* c0 = static_cast<char*>(args.c);
  std::vector<std::uint32_t> row(static_cast<std::size_t>(p.pairs)), column(row);
  const auto sum = [&](float c, const char* a, const char* b) {
    std::memcpy(row.data(), a, row.size() * 4);
    for (std::size_t k = 0; k < column.size(); ++k)
      std::memcpy(&column[k], b + static_cast<std::int64_t>(k) * p.bPitch, 4);
    return twoChains(c, row.data(), column.data(), p.pairs, 1, p.f16());
  };
  for (std::int64_t rep = 0; rep < args.repeat; ++rep, a0 += args.aRepeat, b0 += args.bRepeat, c0 += args.cRepeat) {
    Values sums(static_cast<std::size_t>(p.rows * p.cols));
    const auto eachSum = [&](const auto& visit) {
      for (std::int64_t i = 0; i < p.rows; ++i)
        for (std::int64_t j = 0; j < p.cols; ++j)
          visit(sums[static_cast<std::size_t>(i * p.cols + j)], i / p.tileRows, i % p.tileRows, j);
    };
    const auto placeOf = [&](std::int64_t tile, std::int64_t r, std::int64_t j) {
      return c0 + tile * p.cTile + r * p.cPitch + j * 4;
    };
    if (args.accumulate != 0) eachSum([&](float& s, auto tile, auto r, auto j) { s = at(placeOf(tile, r, j), 0); });
    const std::int64_t* segment = args.list + 1;
    for (std::int64_t n = 0; n < args.list[0]; ++n, segment += 3) {
      const char *a = a0 + segment[0], *b = b0 + segment[1];
      for (std::int64_t outer = 0; outer < segment[2]; ++outer, a += p.aStep, b += p.bStep)
        eachSum([&](float& s, auto tile, auto r, auto j) {
          s = sum(s, a + tile * p.aTile + r * p.aPitch,
                  b + j / TileProduct::kTileColumns * p.bTile + j % TileProduct::kTileColumns * 4);
        });
    }
    eachSum([&](float& s, auto tile, auto r, auto j) { put(placeOf(tile, r, j), 0, s); });
  }
}

void interpret(const LaneReduce& m, const KernelArgs& args) {
  eachMatrix({}, args, [&](const char* src, char* dst) {
    for (std::int64_t r = 0; r < m.rows; ++r) {
      float lane[16];
      for (int i = 0; i < m.lanes; ++i) lane[i] = at(src + r * m.srcPitch, i);
      put(dst, r, lanesCombined(m.combine, lane, m.lanes));
    }
  });
}

// What is made of the elements of a matrix, and combined or not.
class MapCall {
 public:
  MapCall(const Map& m, const KernelArgs& args) : m_(m), args_(args) {}

  void run(const char* src, char* dst) const {
    const std::int64_t out = elementBytes(m_.to);
    for (std::int64_t r = 0; m_.cols > 0 && r < m_.rows; ++r, dst += m_.dstPitch) {
      if (m_.combine != Combine::kNone) {
        partials(src, r, dst);
        continue;
      }
      for (std::int64_t c = 0; c < m_.cols; ++c) {
        char* const to = dst + c * out;
        writeElement(m_.to, to, bitsOf(value(src, r, c, readsE_ ? addendAt(to, args_.residual, m_.to) : 0)));
      }
      zero(dst + m_.cols * out, m_.padCols * out);
    }
  }

 private:
  static float valueAt(Element e, const char* place) { return floatOf(readElement(e, place, 0)); }

  float value(const char* src, std::int64_t r, std::int64_t c, float e) const {
    const auto *d = static_cast<const char*>(args_.d), *b = static_cast<const char*>(args_.b);
    const float v = m_.zeros ? 0 : valueAt(m_.from, moved(src, r * m_.srcPitch + c * elementBytes(m_.from)));
    return m_.f.evaluate(v, readsD_ ? valueAt(m_.d, d + r * m_.dRow + c * m_.dColumn) : 0,
                         readsB_ ? valueAt(m_.b, b + r * m_.bRow + c * m_.bColumn) : 0, e);
  }

  void partials(const char* src, std::int64_t r, char* dst) const {
    std::array<std::array<float, 16>, kMapChains> acc{};
    for (auto& chain : acc) chain.fill(identityOf(m_.combine));
    for (std::int64_t c = 0; c < m_.cols; ++c) {
      float& held = acc[static_cast<std::size_t>(c / m_.lanes % kMapChains)][static_cast<std::size_t>(c % m_.lanes)];
      held = combined(m_.combine, value(src, r, c, 0), held);
    }
    for (std::size_t l = 0; l < static_cast<std::size_t>(m_.lanes); ++l) {
      const float first = combined(m_.combine, acc[1][l], acc[0][l]),
                  second = combined(m_.combine, acc[3][l], acc[2][l]);
      put(dst, static_cast<std::int64_t>(l), combined(m_.combine, second, first));
    }
  }

  const Map& m_;
  const KernelArgs& args_;
  const bool readsD_ = m_.f.readsD(), readsB_ = m_.f.readsB(), readsE_ = m_.f.readsE();
};

void interpret(const Map& m, const KernelArgs& args) {
  const MapCall call(m, args);
  eachMatrix({}, args, [&](const char* src, char* dst) { call.run(src, dst); });
}

}  // namespace

void interpret(const Kernel& kernel, const KernelArgs& args) {
  std::visit([&](const auto& k) { interpret(k, args); }, kernel);
}

}  // namespace cubejit
