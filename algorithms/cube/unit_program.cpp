// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how unit instructions are spelled.
#include "algorithms/cube/unit_program.h"

namespace cubejit {
namespace {

std::string text(const char* name, std::int64_t value) { return std::string(" ") + name + " " + std::to_string(value); }
std::string text(const char* name, const Span& s) {
  return std::string(" ") + name + " " + std::to_string(s.begin) + ".." + std::to_string(s.end());
}

struct Spell {
  std::string operator()(const LoadImage& i) const {
    return text("l1", i.l1) + text("depth", i.depth) + text("rows", i.rows) + text("columns", i.columns) +
           text("blocks", i.blocks);
  }
  std::string operator()(const LoadWeights& i) const {
    return text("l1", i.l1) + text("tap_depth", i.tapDepth) + text("units", i.units) + text("n", i.n) +
           (i.plain ? " plain" : "");
  }
  std::string operator()(const LoadPixels& i) const {
    return text("l1", i.l1) + text("depth", i.depth) + text("channels", i.channels) + text("pixels", i.pixels);
  }
  std::string operator()(const Unfold& i) const {
    return text("l0", i.l0) + " from" + (*this)(i.piece) + text("pixels", i.pixels) + text("units", i.units);
  }
  std::string operator()(const LoadFractals& i) const {
    return text("l0", i.l0) + text("l1", i.l1) + text("pitch", i.pitch) + text("x", i.x) + text("y", i.y) +
           (i.plain ? " plain" : "");
  }
  std::string operator()(const Mmad& i) const {
    return text("l0a", i.l0a) + text("l0b", i.l0b) + text("l0c", i.l0c) + text("m1", i.m1) + text("k1", i.k1) +
           text("n1", i.n1) + (i.first ? " first" : "");
  }
};

struct Name {
  const char* operator()(const LoadImage&) const { return "gm_to_l1 image"; }
  const char* operator()(const LoadWeights&) const { return "gm_to_l1 weights"; }
  const char* operator()(const LoadPixels&) const { return "gm_to_l1 pixels"; }
  const char* operator()(const Unfold& i) const {
    return i.side == L0Side::kA ? "l1_to_l0a unfold" : "l1_to_l0b unfold";
  }
  const char* operator()(const LoadFractals& i) const {
    return i.side == L0Side::kA ? "l1_to_l0a fractals" : "l1_to_l0b fractals";
  }
  const char* operator()(const Mmad&) const { return "mmad"; }
};

}  // namespace

const char* nameOf(const UnitInstruction& instruction) { return std::visit(Name{}, instruction); }
std::string toString(const UnitInstruction& instruction) {
  return nameOf(instruction) + std::visit(Spell{}, instruction);
}

}  // namespace cubejit
