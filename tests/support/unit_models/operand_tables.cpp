// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tables from index maps.
#include "tests/support/unit_models/operand_tables.h"

#include <algorithm>

namespace cubejit {
namespace {

std::vector<std::int64_t> offsetsAlong(const IndexMap& map, std::size_t axis, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = first; i < first + count; ++i) offsets.push_back(map.along(axis, i));
  return offsets;
}

std::int64_t largest(const std::vector<std::int64_t>& offsets) {
  return offsets.empty() ? 0 : *std::max_element(offsets.begin(), offsets.end());
}

std::string tooShort(const char* name, std::int64_t needed, std::int64_t have) {
  return std::string(name) + " needs " + std::to_string(needed) + " bytes for this task, but has " +
         std::to_string(have) + "; give the whole tensor, or start inside it";
}

Status checkView(const char* name, const GlobalView& view, DType type) {
  if (view.data == nullptr)
    return invalidInput(std::string(name) + " is null; set it before the task begins", Stage::kRun);
  if (view.type == type || (isHf32(type) && byteSize(view.type) == 4)) return Unit{};
  return invalidInput(std::string(name) + " is " + toString(view.type) + " but the tiling multiplies " + toString(type),
                      Stage::kRun);
}

Status fillActivation(const char* name, const CubeJob& job, const GlobalView& view, bool big, std::int64_t blocks,
                      const Dhw& extent, const CoreTask& task, ActivationTable& table) {
  CUBEJIT_RETURN_IF_ERROR(checkView(name, view, job.work.type));
  const std::int64_t c0 = job.work.c0, base = view.map.along(0, task.image);
  const ChannelRange channels = channelsOf(job, big, task.group);
  table.data = view.data;
  table.channel = offsetsAlong(view.map, 1, channels.first, std::min(channels.count, blocks * c0));
  table.depth = offsetsAlong(view.map, 2, 0, extent.d);
  table.row = offsetsAlong(view.map, 3, 0, extent.h);
  table.column = offsetsAlong(view.map, 4, 0, extent.w);
  for (std::int64_t& d : table.depth) d += base;
  const std::int64_t last = largest(table.channel) + largest(table.depth) + largest(table.row) + largest(table.column);
  const std::int64_t needed = (last + 1) * byteSize(view.type);
  table.channel.resize(static_cast<std::size_t>(blocks * c0), kMissing);
  if (view.bytes >= 0 && needed > view.bytes) return invalidInput(tooShort(name, needed, view.bytes), Stage::kRun);
  return Unit{};
}

Status fillWeights(const CubeJob& job, const GlobalView& view, const CoreTask& task, WeightTable& table) {
  CUBEJIT_RETURN_IF_ERROR(checkView("w", view, job.work.type));
  const ChannelRange outer = channelsOf(job, false, task.group), inner = channelsOf(job, true, task.group);
  table.data = view.data;
  table.outer = offsetsAlong(view.map, 0, outer.first, outer.count);
  table.inner = offsetsAlong(view.map, 1, inner.first, inner.count);
  table.outerOfGroup = outer.ofGroup;
  table.innerOfGroup = inner.ofGroup;
  table.oneGroup = job.work.groups.together == 1;
  table.depth = offsetsAlong(view.map, 2, 0, job.work.kernel.d);
  table.tap.clear();
  for (std::int64_t h = 0; h < job.work.kernel.h; ++h) {
    for (std::int64_t w = 0; w < job.work.kernel.w; ++w)
      table.tap.push_back(view.map.along(3, h) + view.map.along(4, w));
  }
  const std::int64_t needed =
      (largest(table.outer) + largest(table.inner) + largest(table.depth) + largest(table.tap) + 1) *
      byteSize(view.type);
  if (view.bytes >= 0 && needed > view.bytes) return invalidInput(tooShort("w", needed, view.bytes), Stage::kRun);
  return Unit{};
}

}  // namespace

Status fillTables(const CubeJob& job, const GlobalOperands& operands, const CoreTask& task, OperandTables& tables) {
  const CubeWork& w = job.work;
  const bool dx = w.pass == Pass::kDx, transposed = job.problem.transposed;
  const bool imageIsDy = dx || transposed;
  CUBEJIT_RETURN_IF_ERROR(fillActivation(imageIsDy ? "dy" : "x", job, imageIsDy ? operands.dy : operands.x, !w.spread,
                                         w.blocks, w.image, task, tables.image));
  if (dx) return fillWeights(job, operands.w, task, tables.weights);
  return fillActivation(transposed ? "x" : "dy", job, transposed ? operands.x : operands.dy, false, w.smallBlocks,
                        w.pixels, task, tables.pixels);
}

}  // namespace cubejit
