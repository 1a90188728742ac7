// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides phases: one for each block that something contributes to, and one for each way out that blocks share.
#include "algorithms/lower_task.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "algorithms/cube/lower/result_calls.h"
#include "algorithms/cube/lower/task_keys.h"
#include "algorithms/cube/lower/unit_calls.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/tensor_binding.h"
#include "codegen/tile/touch.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

// Bytes of a buffer that the program's calls touch, from the least to the most.
ByteRange touched(ProgramTouch& touch, int buffer) {
  const TileProgram& tile = touch.program();
  ByteRange all{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (const Phase& phase : tile.phases) {
    for (const Node& node : phase.body) {
      const Variant& v = node.call.variants.front();
      const std::array<int, 4> streams{node.call.a, node.call.b, node.call.c, node.call.d};
      for (std::size_t s = 0; s < streams.size(); ++s) {
        if (streams[s] < 0 || phase.streams[static_cast<std::size_t>(streams[s])].buffer != buffer) continue;
        const ByteRange range = touch.extentsOf(v)[s];
        const auto [low, high] = node.call.place.reach(s);
        if (!range.empty()) all = {std::min(all.begin, low + range.begin), std::max(all.end, high + range.end)};
      }
    }
  }
  return all.empty() ? ByteRange{} : all;
}

std::string text(const Mkn& s) {
  return "_m" + std::to_string(s.m) + "k" + std::to_string(s.k) + "n" + std::to_string(s.n);
}

class TaskLowering {
 public:
  TaskLowering(const CubeJob& job, const TaskTensors& tensors, const CoreTask& task, int lanes,
               const CubeShortcuts& shortcuts)
      : job_(job),
        tensors_(tensors),
        task_(task),
        lanes_(lanes),
        shortcuts_(shortcuts),
        t_(tensorsOf(job, tensors.image, tensors.other)),
        b_(problemLabel(job.problem, job.work.pass) + "_" + job.machine.name + "_d" + std::to_string(task.depth) +
           "_at" + text(task.start) + "_of" + text(task.extent)) {}

  Result<CubeTaskProgram> run() {
    const auto tensor = [&](TensorId t) { return b_.addTensor(t, 0); };
    buffers_.image = tensor(t_.image);
    buffers_.other = tensor(t_.other);
    buffers_.result = tensor(t_.result);
    addCoreBuffers(b_, job_, Buffer::Use::kShared, buffers_);
    CubeTaskProgram out;
    out.l0c = buffers_.l0c;
    CUBEJIT_RETURN_IF_ERROR(addBlocks(out.blocks));
    for (TaskBlock& block : out.blocks) {
      if (block.compute >= 0) block.store = storeOf(block);
    }
    out.tile = b_.finish();
    setElements(out.tile, job_.problem);
    const TaskPlace place = placeOf(job_, tensors_, task_);
    ProgramTouch touch(out.tile);
    out.image = begin(out.tile, buffers_.image, touch) - place.image;
    out.other = begin(out.tile, buffers_.other, touch) - place.other;
    begin(out.tile, buffers_.result, touch);
    return out;
  }

 private:
  CubeStreams beginPhase(const std::string& name) {
    b_.beginPhase(name);
    return addStreams(b_, t_, buffers_, toString(t_.result));
  }

  Status addBlocks(std::vector<TaskBlock>& blocks) {
    // Streams have the same numbers in every phase.
    CubeStreams streams;
    std::optional<UnitCalls> units;
    BlockStream stream(job_, task_);
    CubeBlock block;
    UnitProgram program;
    std::int64_t calls = 0;
    while (stream.next(block, program)) {
      TaskBlock made{block, stream.l0c(), -1, -1, storedColumns(block)};
      if (block.computed) {
        made.compute = static_cast<int>(b_.phases());
        streams = beginPhase("block_m" + std::to_string(block.mIndex) + "_n" + std::to_string(block.nIndex));
        if (!units) units.emplace(job_, t_, streams, lanes_, shortcuts_, b_).beginTask(task_);
        CallSequence sequence(b_);
        for (const UnitInstruction& instruction : program) units->add(instruction, sequence);
        calls += sequence.size();
        if (calls > kMostCubeCalls) return tooManyCalls(job_.plan.cube());
        b_.phase().body = sequence.take();
      }
      blocks.push_back(made);
    }
    return Unit{};
  }

  // Those of channels that the tensor has; what only pads its last block of c0 is zero in L0C, too.
  std::int64_t storedColumns(const CubeBlock& block) const {
    if (job_.work.pass == Pass::kDw) return block.n;
    const ChannelRange result = channelsOf(job_, job_.work.spread, task_.group);
    return std::clamp<std::int64_t>(storedChannels(t_.resultMap, result) - task_.start.n - block.n0, 0, block.n);
  }

  int storeOf(const TaskBlock& block) {
    const std::int64_t columns = block.storedColumns;
    const auto [known, fresh] =
        stores_.emplace(std::array{block.block.m, columns, block.l0c}, static_cast<int>(b_.phases()));
    if (!fresh) return known->second;
    const CubeStreams streams = beginPhase("store_" + std::to_string(block.block.m) + "x" + std::to_string(columns));
    CallSequence calls(b_);
    storeBlock(job_.machine, streams, tensors_.result, block.block.m, columns, block.l0c, lanes_, calls);
    b_.phase().body = calls.take();
    return known->second;
  }

  // From now on the buffer begins where the first byte lies that calls touch; returns where that is.
  static std::int64_t begin(TileProgram& tile, int buffer, ProgramTouch& touch) {
    const ByteRange all = touched(touch, buffer);
    tile.buffers[static_cast<std::size_t>(buffer)].bytes = all.end - all.begin;
    for (Phase& phase : tile.phases) {
      for (Stream& stream : phase.streams) {
        if (stream.buffer == buffer) stream.offset = -all.begin;
      }
    }
    return all.begin;
  }

  const CubeJob& job_;
  const TaskTensors& tensors_;
  const CoreTask& task_;
  const int lanes_;
  const CubeShortcuts shortcuts_;
  const CubeTensors t_;
  ProgramBuilder b_;
  CubeBuffers buffers_;
  std::map<std::array<std::int64_t, 3>, int> stores_;
};

}  // namespace

TaskPlace placeOf(const CubeJob& job, const TaskTensors& tensors, const CoreTask& task) {
  const CubeTensors t = tensorsOf(job, tensors.image, tensors.other);
  const CubeSums sums(job);
  const TaskKeys keys(job, t, sums);
  const TaskPlaces places = keys.places(task);
  TaskPlace place{
      {task.group, task.start.n, job.work.pass == Pass::kDx ? task.start.k : task.start.m}, places.image, places.other};
  for (const TaskKey& key : {keys.pixels(task), keys.depths(task)})
    place.like.insert(place.like.end(), key.begin(), key.end());
  return place;
}

Result<CubeTaskProgram> lowerTask(const CubeJob& job, const TaskTensors& tensors, const CoreTask& task, int lanes,
                                  const CubeShortcuts& shortcuts) {
  return TaskLowering(job, tensors, task, lanes, shortcuts).run();
}

}  // namespace cubejit
