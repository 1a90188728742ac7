// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which kernel calls a unit instruction is. Leaves which instructions there are to algorithms/cube/block_stream.
#pragma once

#include <map>
#include <vector>

#include "algorithms/cube/lower/channel_runs.h"
#include "algorithms/cube/lower/cube_streams.h"
#include "algorithms/cube/lower/listed_moves.h"
#include "algorithms/cube/unit_program.h"
#include "algorithms/lower.h"
#include "cubejit/host_isa.h"

namespace cubejit {

/// A program's, of all tasks that differ: some hundred megabytes.
inline constexpr std::int64_t kMostCubeCalls = 1 << 20;
/// What is said of one that has more.
Error tooManyCalls(const CubePlan& plan);

/// Calls of the instructions of one task. Offsets into tensors are those of that task.
class UnitCalls {
 public:
  UnitCalls(const CubeJob& job, const CubeTensors& tensors, const CubeStreams& streams, int lanes,
            const CubeShortcuts& shortcuts, ProgramBuilder& builder);

  void beginTask(const CoreTask& task);
  void add(const UnitInstruction& instruction, CallSequence& calls);

 private:
  struct MmadKernel {
    std::vector<std::int64_t> rows;  ///< that are multiplied, counted from the first
    std::int64_t m = 0;              ///< rows of A
    std::int64_t tail = 0;  ///< words of the last fractal along k, a section of their own; 0: it is like the others
    friend auto operator<=>(const MmadKernel& a, const MmadKernel& b) = default;
  };
  // Where the words of what L0A or L0B holds lie.
  struct Panel {
    std::int64_t at = 0;  ///< bytes of a_words or b_words
    bool read = false;    ///< the cube has read them for a block before
  };
  struct Panels {
    std::int64_t bytes = 0;                        ///< of one
    std::vector<std::vector<std::int64_t>> holds;  ///< by place, what fills L0 with it and what that takes from L1
    std::size_t next = 0;
    std::map<std::int64_t, Panel> of;  ///< by where L0 is filled
  };
  bool keeps(const UnitInstruction& fill);
  void spell(const UnitInstruction& instruction, CallSequence& calls);
  void load(const LoadImage& i, CallSequence& calls);
  void load(const LoadPixels& i, CallSequence& calls);
  void load(const LoadWeights& i, CallSequence& calls);
  void fill(const Unfold& i, CallSequence& calls);
  void fill(const LoadFractals& i, CallSequence& calls);
  void multiply(const Mmad& i, CallSequence& calls);

  void gather(const Unfold& i, std::int64_t unit, std::int64_t to, std::int64_t fractalPitch, ListedMoves& moves) const;
  std::vector<std::int64_t> channelOffsets(bool image, std::int64_t block) const;
  Copy copyRuns(std::int64_t fromPitch) const;
  Fill zeroRuns() const;
  Transpose turnRuns(std::int64_t runs) const;
  // Rows of A that see the image by the same taps.
  struct RowClass {
    std::vector<std::int64_t> rows;
    std::vector<Span> k1;  ///< ascending; products of the others are zero by their place
  };
  std::vector<RowClass> rowClasses(const Mmad& i) const;
  bool skipsZeros() const { return shortcuts_.leavesOutZeros && w_.spread; }
  bool sees(std::int64_t pixel, std::int64_t unit) const;
  // Along k of a fractal, as the cube multiplies them: c0 elements, or half as many pairs.
  std::int64_t words() const { return shortcuts_.pairs ? w_.c0 / 2 : w_.c0; }
  Element wordFrom() const;
  Element wordTo() const;
  void readA(const Mmad& i, const std::vector<RowClass>& classes, std::int64_t to, CallSequence& calls) const;
  void readB(const Mmad& i, std::int64_t to, CallSequence& calls) const;
  std::int64_t tailWords(const Mmad& i) const;
  int mmadKernel(MmadKernel wanted);

  const CubeJob& job_;
  const CubeWork& w_;
  const CubeTensors& t_;
  const CubeStreams& s_;
  const int lanes_;
  ProgramBuilder& b_;
  const Element word_;  ///< of operands that are moved as they are
  const CubeShortcuts shortcuts_;
  CoreTask task_;
  std::map<std::vector<std::int64_t>, std::vector<Node>>
      known_;                                   ///< calls of instructions that do not depend on the task
  std::map<std::int64_t, Unfold> unfolded_;     ///< to L0A, by where it lies there
  std::map<std::int64_t, std::int64_t> along_;  ///< k that L0A has of dW's pixels, by where they lie there
  std::map<MmadKernel, int> mmads_;
  std::map<std::int64_t, std::vector<std::int64_t>> loaded_;  ///< matrices, by where they lie in L1
  Panels panelsA_, panelsB_;
};

}  // namespace cubejit
