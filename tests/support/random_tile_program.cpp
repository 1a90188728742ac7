// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/support/random_tile_program.h"

#include <optional>

#include "codegen/tile/kernel_fields.h"

namespace cubejit {
namespace {

class TileGenerator {
 public:
  explicit TileGenerator(std::mt19937_64& random) : random_(random) {}

  TileProgram run() {
    TileProgram p;
    p.name = name();
    for (int i = below(4); i >= 0; --i) p.buffers.push_back(buffer());
    for (int i = below(4); i > 0; --i) p.queues.push_back(name());
    for (int i = below(4); i > 0; --i) p.units.push_back({name(), below(4)});
    if (flip()) p.residual = {below(3), below(3)};
    for (int i = below(4); i > 0; --i) p.kernels.push_back(kernel());
    for (int i = below(4); i > 0; --i) p.lists.push_back(list());
    for (int i = below(3); i > 0; --i) p.phases.push_back(phase());
    return p;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool flip() { return below(2) == 0; }
  std::int64_t number() { return below(3) == 0 ? 0 : static_cast<std::int64_t>(random_()) >> below(64); }
  std::int32_t offset() { return static_cast<std::int32_t>(number() % (1 << 30)); }
  float real() { return flip() ? 0.0F : static_cast<float>(number()) / 7.0F; }
  std::string name() {
    static const std::string kNames[] = {"a",         "b",  "class",    "repeat",   "acc0", "",
                                         "two words", "0x", "q\"\\\n;", "\xc3\xa9", "k1",   "nan"};
    return kNames[below(12)];
  }
  Element element() { return static_cast<Element>(below(kElements)); }
  LaneRange lanes() {
    return flip() ? LaneRange{} : LaneRange{static_cast<std::int16_t>(below(8)), static_cast<std::int16_t>(below(17))};
  }
  Expression expression() {
    Expression f;
    for (int i = below(4); i > 0; --i) {
      ExpressionStep step{static_cast<ExpressionOp>(below(kExpressionOps)), {}};
      for (std::size_t o = 0; o < arity(step.op); ++o) {
        const auto kind = static_cast<ExpressionValue::Kind>(below(7));
        step.operands[o] =
            kind == ExpressionValue::Kind::kConstant ? ExpressionValue::constant(real()) : ExpressionValue{kind, 0};
        if (kind == ExpressionValue::Kind::kStep) step.operands[o].word = static_cast<std::uint32_t>(below(3));
      }
      f.steps.push_back(step);
    }
    return f;
  }

  // Now and then a run, of one or two entries that move on; `next` makes an entry from the one it repeats.
  template <class T, class Make, class Next>
  std::vector<T> entries(int most, Make make, Next next) {
    std::vector<T> all;
    while (static_cast<int>(all.size()) < most && below(6) != 0) {
      if (const std::size_t period = 1 + static_cast<std::size_t>(below(3)); flip() && all.size() >= period) {
        for (int times = below(3) + 1; times > 0; --times) {
          for (std::size_t i = 0; i < period; ++i) {
            T copy = all[all.size() - period];
            next(copy);
            all.push_back(std::move(copy));
          }
        }
      } else {
        all.push_back(make());
      }
    }
    return all;
  }

  Buffer buffer() {
    Buffer b{name(), static_cast<Buffer::Use>(below(5)), number(), {}, flip(), bufferElement()};
    b.values = entries<float>(6, [&] { return real(); }, [](float& /*same*/) {});
    return b;
  }

  Element bufferElement() {
    constexpr Element kAll[] = {Element::kF32, Element::kF16, Element::kBf16, Element::kI8, Element::kI32};
    return kAll[below(5)];
  }

  std::optional<ListSteps> listSteps() { return flip() ? std::nullopt : std::optional(ListSteps{number(), number()}); }

  Kernel kernel() {
    const int lanes = 4 << below(3);
    switch (below(13)) {
      case 0:
        return Copy{lanes,     number(), number(), number(), number(), number(),    element(),
                    element(), number(), number(), flip(),   below(3), listSteps(), name()};
      case 1:
        return Transpose{lanes,     number(), number(), number(), number(),    number(), element(),
                         element(), number(), number(), below(3), listSteps(), name()};
      case 2: return Fill{lanes, number(), number(), number(), element(), listSteps(), name()};
      case 3: return Accumulate{lanes, number(), number(), number(), number(), listSteps(), name()};
      case 4: return LaneReduce{lanes, number(), number(), static_cast<Combine>(below(kCombines)), name()};
      case 5:
        return Map{lanes,    number(),  number(),  number(), number(),     number(),
                   flip(),   element(), element(), flip(),   expression(), element(),
                   number(), number(),  element(), number(), number(),     static_cast<Combine>(below(kCombines)),
                   name()};
      case 6:
        return TileProduct{lanes,    number(), number(), number(), number(), element(), number(), number(),
                           number(), number(), number(), number(), number(), number(),  name()};
      default: return contract();
    }
  }

  Contract contract() {
    Contract c;
    c.lanes = 4 << below(3);
    const std::int32_t far = below(3) * 64;
    c.accumulators = entries<Accumulator>(
        8, [&] { return Accumulator{offset(), lanes(), offset(), lanes()}; },
        [&](Accumulator& acc) { acc.cOffset += far; });
    c.sets = 1 + below(3);
    for (int i = below(3); i > 0; --i) c.sections.push_back(section());
    for (int i = below(3); i > 0; --i) c.tables.push_back({offset(), offset(), 7});
    c.streamingStore = flip(), c.prefetchResults = flip(), c.products = static_cast<Products>(below(3)),
    c.addsToC = flip(), c.copiesB = flip();
    c.vectorsA = element(), c.vectorsB = element(), c.result = element();
    c.pairPitchB = number();
    c.combine = static_cast<Combine>(below(kCombines));
    c.epilogue = expression();
    c.label = name();
    return c;
  }

  Section section() {
    Section s;
    s.aOuterStep = number(), s.bOuterStep = number();
    s.steps = entries<Step>(
        6, [&] { return step(); },
        [](Step& next) {
          for (AOperand& a : next.a) a.offset += a.kind == AKind::kOne ? 0 : 4;
          for (VectorLoad& b : next.b) b.offset += 64;
        });
    return s;
  }

  Step step() {
    Step s;
    s.b = entries<VectorLoad>(5, [&] { return VectorLoad{offset(), lanes()}; }, [](VectorLoad& b) { b.offset += 32; });
    s.a = entries<AOperand>(
        6, [&] { return operand(); },
        [](AOperand& a) {
          if (a.kind != AKind::kOne) a.offset += 8;
          if (a.kind == AKind::kPermute2) a.offset2 += 8;
          for (Use& use : a.uses) use.acc = static_cast<std::int16_t>(use.acc + 2);
        });
    s.firstMembers = flip();
    s.prefetchAhead = below(3), s.prefetchB = below(3);
    return s;
  }

  AOperand operand() {
    AOperand a;
    a.kind = static_cast<AKind>(below(kAKinds));
    if (a.kind != AKind::kOne) a.offset = offset(), a.lanes = lanes();
    if (a.kind == AKind::kPermute || a.kind == AKind::kPermute2) a.table = static_cast<std::int16_t>(below(5));
    if (a.kind == AKind::kPermute2) a.offset2 = offset(), a.lanes2 = lanes();
    a.useLanes = lanes();
    a.uses = entries<Use>(
        6, [&] { return Use{static_cast<std::int16_t>(below(40)), static_cast<std::int16_t>(below(9))}; },
        [](Use& use) { use.acc = static_cast<std::int16_t>(use.acc + 1); });
    return a;
  }

  SegmentList list() {
    SegmentList list;
    for (int s = below(3); s > 0; --s) {
      list.push_back(entries<Segment>(
          9, [&] { return Segment{number(), number(), below(9)}; },
          [](Segment& next) {
            next.aOffset = static_cast<std::int64_t>(static_cast<std::uint64_t>(next.aOffset) + 256U);
          }));
    }
    return list;
  }

  std::vector<std::int64_t> deltas() {
    std::vector<std::int64_t> all(static_cast<std::size_t>(below(static_cast<int>(phase_.streams.size()) + 1)));
    for (std::int64_t& delta : all) delta = number() / 2;
    return all;
  }

  Axis axis() {
    Axis a;
    a.name = name();
    a.classes = 1 + below(3);
    a.steps = entries<AxisStep>(
        9, [&] { return AxisStep{deltas(), below(3), 1 + below(3) / 2, deltas()}; },
        [](AxisStep& next) {
          if (!next.delta.empty()) next.delta[0] += 12;
        });
    if (flip()) {
      a.windowAxis = below(3);
      a.windows = windows(below(9));
    }
    return a;
  }

  std::vector<Window> windows(int count) {
    std::vector<Window> all;
    for (int i = 0; i < count; ++i) all.push_back(flip() ? Window{} : Window{below(9), below(9)});
    return all;
  }

  int stream() { return below(static_cast<int>(phase_.streams.size()) + 1) - 1; }

  // Some axes, and the number of combinations of their classes.
  std::pair<std::vector<int>, std::size_t> classAxes() {
    std::vector<int> axes;
    std::size_t all = 1;
    for (int a = 0; a < static_cast<int>(phase_.axes.size()); ++a) {
      if (!flip()) continue;
      axes.push_back(a);
      all *= static_cast<std::size_t>(phase_.axes[static_cast<std::size_t>(a)].classes);
    }
    return {axes, all};
  }

  Variant variant() {
    if (below(3) == 0) return {};
    return {below(5) - 1, below(4) - 1, flip(), below(3) - 1};
  }

  Call call() {
    Call c;
    c.name = name();
    c.a = stream(), c.b = stream(), c.c = stream(), c.d = stream();
    if (flip()) {
      for (std::int64_t& place : c.place.offset) place = number();
      for (std::int64_t& place : c.place.repeatStep) place = number();
      c.place.repeat = number();
    }
    c.unit = below(5) - 1;
    c.issues = flip();
    for (int i = below(3); i > 0; --i)
      c.flags.push_back(
          {static_cast<UnitFlag::Kind>(below(3)), below(4), below(4), static_cast<std::uint8_t>(below(9))});
    const auto [axes, all] = classAxes();
    c.classAxes = axes;
    while (c.variants.size() < all) c.variants.push_back(variant());
    return c;
  }

  std::vector<Node> nodes(int depth) {
    std::vector<Node> all;
    for (int i = below(3); i >= 0; --i) {
      Node& node = all.emplace_back();
      if (depth == 3 || phase_.axes.empty() || below(3) == 0) {
        node.call = call();
        continue;
      }
      if (flip()) {
        node.axis = below(static_cast<int>(phase_.axes.size()));
      } else {
        const auto [axes, count] = classAxes();
        node.classAxes = axes;
        node.windows = windows(static_cast<int>(count));
      }
      node.body = nodes(depth + 1);
    }
    return all;
  }

  Phase phase() {
    phase_ = Phase{};
    phase_.name = name();
    for (int i = below(4); i > 0; --i) phase_.streams.push_back({name(), below(5) - 1, number()});
    for (int i = below(4); i > 0; --i) phase_.axes.push_back(axis());
    for (int i = below(3); i > 0; --i) phase_.parallelAxes.push_back(below(4));
    phase_.workCycles = flip() ? 0 : static_cast<double>(number()) / 3;
    phase_.body = nodes(0);
    return phase_;
  }

  std::mt19937_64& random_;
  Phase phase_;
};

}  // namespace

TileProgram randomTileProgram(std::mt19937_64& random) { return TileGenerator(random).run(); }

}  // namespace cubejit
