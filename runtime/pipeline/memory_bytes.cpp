// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides by counting elements. What an allocator adds to each of many small vectors is a constant here.
#include "runtime/pipeline/memory_bytes.h"

#include <vector>

#include "runtime/loader/generate.h"
#include "runtime/pipeline/compile.h"

namespace cubejit {
namespace {

constexpr std::size_t kAllocation = 16;     // of an allocator, a block
constexpr std::size_t kPage = 4096;         // code has pages of its own
constexpr std::size_t kBeside = 24u << 10;  // names, places, tables of a program, whatever its size

template <class T>
std::size_t flat(const std::vector<T>& values) {
  return values.empty() ? 0 : kAllocation + values.capacity() * sizeof(T);
}

template <class T, class Inner>
std::size_t nested(const std::vector<T>& values, const Inner& inner) {
  std::size_t bytes = flat(values);
  for (const T& value : values) bytes += inner(value);
  return bytes;
}

std::size_t ofNodes(const std::vector<Node>& body) {
  return nested(body, [](const Node& node) {
    return ofNodes(node.body) + flat(node.call.variants) + flat(node.call.classAxes) + flat(node.call.flags) +
           flat(node.classAxes) + flat(node.windows);
  });
}

std::size_t ofPhase(const Phase& phase) {
  const auto step = [](const AxisStep& s) { return flat(s.delta) + flat(s.repeatDelta); };
  return flat(phase.streams) + ofNodes(phase.body) +
         nested(phase.axes, [&](const Axis& axis) { return nested(axis.steps, step) + flat(axis.windows); });
}

std::size_t ofKernel(const Kernel& kernel) {
  const auto* contract = std::get_if<Contract>(&kernel);
  return contract == nullptr ? 0 : flat(contract->accumulators) + flat(contract->sections);
}

std::size_t ofVectors(const VectorProgram& program) {
  return flat(program.code) + nested(program.constants, flat<std::int32_t>) +
         nested(program.comments, [](const auto& comment) { return comment.second.capacity(); });
}

// Lists and phases are kept twice: as the program has them, and flattened for runs.
std::size_t ofTile(const TileProgram& tile) {
  return nested(tile.buffers, [](const Buffer& b) { return flat(b.values); }) + nested(tile.kernels, ofKernel) +
         2 * (nested(tile.lists, [](const SegmentList& list) { return nested(list, flat<Segment>); }) +
              nested(tile.phases, ofPhase));
}

std::size_t ofPass(const CompiledPass& pass) {
  return kBeside + ofTile(pass.tile) + (pass.lowered ? ofTile(*pass.lowered) : 0) + nested(pass.vectors, ofVectors) +
         nested(pass.codes, [](const Code& c) { return flat(c.bytes) + flat(c.lines) + flat(c.frame); });
}

}  // namespace

std::size_t memoryBytesOf(const Executable::State& state) {
  std::size_t bytes = (state.code.bytes() + kPage - 1) / kPage * kPage;
  for (const CompiledPass* program : state.programs()) bytes += ofPass(*program);
  return bytes;
}

}  // namespace cubejit
