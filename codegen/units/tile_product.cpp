// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a product on a matrix unit becomes tile ops: sums first, then A's tiles, then B's. A tile is loaded right before the first
// product that reads it, so that loads lie between products and the unit waits for none of them but the first two.
#include "codegen/units/assembler.h"
#include "codegen/units/segment_loop.h"
#include "codegen/units/units.h"
#include "codegen/vector/tile_config.h"

namespace cubejit {
namespace {

enum Scalar { kA, kB, kC, kPitchA, kPitchB, kPitchC, kRepeat, kSegment, kAt, kBt, kOuter, kSegments };

class Lowering {
 public:
  Lowering(const TileProduct& product, const HostIsa& isa)
      : p_(product),
        isa_(isa),
        asm_(product.label.text, isa),
        rows_(static_cast<int>(product.rowTiles())),
        columns_(static_cast<int>(product.columnTiles())) {}

  Result<VectorProgram> run() {
    const DType type = p_.f16() ? DType::kF16 : DType::kBf16;
    if (isa_.matrixProduct(type) == nullptr)
      return Error{ErrorCode::kUnsupported, Stage::kVector,
                   p_.label.text + ": " + toString(isa_.level) + " has no tiles of " + toString(type)};
    asm_.comment("arguments");
    asm_.arg(kA, ArgSlot::kA);
    asm_.arg(kB, ArgSlot::kB);
    asm_.arg(kC, ArgSlot::kC);
    asm_.set(kPitchA, p_.aPitch);
    asm_.set(kPitchB, p_.bPitch);
    asm_.set(kPitchC, p_.cPitch);
    asm_.arg(kRepeat, ArgSlot::kRepeat);
    asm_.tileConfigure(shapes());
    asm_.loop(kRepeat);
    begin();
    asm_.comment("products");
    asm_.arg(kSegment, ArgSlot::kList);
    asm_.loadScalar(kSegments, kSegment, 0);
    asm_.addImm(kSegment, kSegment, 8);
    forEachIteration(asm_, {kA, kB, kSegment, kAt, kBt, kOuter, kSegments}, [&] { step(); });
    asm_.comment("results");
    eachSum([&](int tile, std::int64_t at) { asm_.tileStore(tile, kPitchC, kC, at); });
    advance(kA, ArgSlot::kARepeat);
    advance(kB, ArgSlot::kBRepeat);
    advance(kC, ArgSlot::kCRepeat);
    asm_.endLoop();
    asm_.tileRelease();
    return asm_.take();
  }

 private:
  int sum(int i, int j) const { return i * columns_ + j; }
  int tileOfA(int i) const { return rows_ * columns_ + i; }
  int tileOfB(int j) const { return rows_ * columns_ + rows_ + j; }

  TileConfig shapes() const {
    TileConfig config;
    const auto words = [](std::int64_t count) { return static_cast<int>(4 * count); };
    for (int i = 0; i < rows_; ++i) {
      const int rows = static_cast<int>(p_.rowsOf(i));
      config[tileOfA(i)] = {rows, words(p_.pairs)};
      for (int j = 0; j < columns_; ++j) config[sum(i, j)] = {rows, words(p_.colsOf(j))};
    }
    for (int j = 0; j < columns_; ++j) config[tileOfB(j)] = {static_cast<int>(p_.pairs), words(p_.colsOf(j))};
    return config;
  }

  template <class Visit>
  void eachSum(Visit visit) {
    for (int i = 0; i < rows_; ++i)
      for (int j = 0; j < columns_; ++j) visit(sum(i, j), i * p_.cTile + j * TileProduct::kTileColumns * 4);
  }

  void begin() {
    asm_.comment("sums: zero, or what is in C");
    eachSum([&](int tile, std::int64_t) { asm_.tileZero(tile); });
    asm_.arg(kOuter, ArgSlot::kAccumulate);
    asm_.loop(kOuter);
    eachSum([&](int tile, std::int64_t at) { asm_.tileLoad(tile, kPitchC, kC, at); });
    asm_.endLoop();
  }

  void step() {
    for (int i = 0; i < rows_; ++i) {
      asm_.tileLoad(tileOfA(i), kPitchA, kAt, i * p_.aTile);
      for (int j = 0; j < columns_; ++j) {
        if (i == 0) asm_.tileLoad(tileOfB(j), kPitchB, kBt, j * p_.bTile);
        asm_.tileDot(p_.f16() ? VOp::kTileDotF16 : VOp::kTileDotBf16, sum(i, j), tileOfA(i), tileOfB(j));
      }
    }
    asm_.addImm(kAt, kAt, p_.aStep);
    asm_.addImm(kBt, kBt, p_.bStep);
  }

  void advance(int pointer, ArgSlot by) {
    asm_.arg(kOuter, by);
    asm_.add(pointer, pointer, kOuter);
  }

  const TileProduct& p_;
  const HostIsa isa_;
  VectorAssembler asm_;
  const int rows_, columns_;
};

}  // namespace

Result<VectorProgram> unitCode(const TileProduct& product, const HostIsa& isa) { return Lowering(product, isa).run(); }

}  // namespace cubejit
