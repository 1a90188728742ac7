// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a separable linear transform of a small box of vectors becomes contracts: one matrix an axis, applied axis by
// axis through private temporaries, coefficients broadcast from a constant buffer. Zero coefficients cost nothing; positions
// that do not exist are left out of the sums, results nobody wants are not computed.
//   out[i1][i2].. = sum over j1, j2 ..  M1[i1][j1] * M2[i2][j2] .. * in[j1][j2]..            every element a vector of channels
// Leaves which boxes there are, and where, to the lowerings.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/kit/lower/epilogue.h"
#include "algorithms/kit/lower/tiles.h"
#include "algorithms/kit/matrix.h"
#include "cubejit/host_isa.h"

namespace cubejit {

/// One axis of the box.
struct PassAxis {
  Matrix matrix;
  std::int64_t inStride = 0, outStride = 0;  ///< bytes between positions of the source, of the destination
  /// What exists of the inputs and is wanted of the outputs, by class of `classAxis` (an axis of the phase that encloses the
  /// transform); without one there is a single class.
  int classAxis = -1;
  std::vector<Range> inputs{}, outputs{};
};

/// Lines side by side that all passes go along, from the first of `range` on: positions of an axis that is not transformed, which exist in any class.
struct PassLines {
  Range range;
  std::int64_t inStride = 0, outStride = 0;  ///< bytes between lines of the source, of the destination
};

/// The channels of a box, side by side in vectors.
struct PassChannels {
  int lanes = 16;
  std::int64_t vectorsAtOnce = 1;
  bool maskLoads = false, maskStores = false;  ///< the tensor on that side ends with the last channel
  int windowAxis = -1;                         ///< its class picks the channels; -1: there is one range
  std::vector<Range> ranges;                   ///< by class; what lies before, in the same vectorsAtOnce, comes along
  Epilogue* epilogue = nullptr;                ///< of what the last pass stores
};

/// What the transforms of a program share: one buffer of coefficients, private temporaries, and their streams in a phase.
class PassRoom {
 public:
  explicit PassRoom(ProgramBuilder& b) : b_(b) {}
  /// Streams are those of the phase that has begun.
  void enterPhase() { coefficients_ = temporaries_[0] = temporaries_[1] = rows_ = -1; }

  int coefficients();
  /// Where the matrix lies in the coefficients, bytes.
  std::int64_t place(const Matrix& matrix);
  /// The stream of temporary 0 or 1, which holds at least so many bytes.
  int temporary(std::size_t index, std::int64_t bytes);
  /// The stream of what lies between the parts of a transform, at least so many bytes.
  int rows(std::int64_t bytes);
  ProgramBuilder& builder() { return b_; }

 private:
  ProgramBuilder& b_;
  int constants_ = -1;
  std::array<int, 2> buffers_{-1, -1};
  int coefficients_ = -1;
  std::array<int, 2> temporaries_{-1, -1};
  int rowBuffer_ = -1;
  int rows_ = -1;
};

/// Vector registers that passes may use: where masks are registers, three are theirs.
inline std::int64_t passRegisters(const HostIsa& isa) { return isa.vectorRegs - (isa.maskRegs > 0 ? 0 : 3); }

/// Vectors a pass can take at once: accumulators, operands and a coefficient in registers.
std::int64_t passVectors(const std::vector<PassAxis>& axes, std::int64_t registers, std::int64_t most);

/// A transform of blocks of channels, in one or two parts with what comes between them; `name` is that of its axes and kernels.
class LinearTransform {
 public:
  /// Blocks of channels move stream `in` at the transform's beginning, and `out` at its end.
  LinearTransform(PassRoom& room, std::string name, const PassChannels& channels, int in, int out);

  /// Passes along `axes` in their order. `begins`, `ends`: they read the transform's source, write its destination.
  std::vector<Node> passes(const std::vector<PassAxis>& axes, const std::vector<PassLines>& lines, int in, int out,
                           bool begins, bool ends);
  /// The loop over the blocks of channels.
  std::vector<Node> overChannels(std::vector<Node> body) const { return nest({channelBlock_}, std::move(body)); }

 private:
  class Passes;

  PassRoom& room_;
  const std::string name_;
  const PassChannels channels_;
  int channelBlock_ = -1;
  std::vector<std::int64_t> counts_;  ///< of channels, by class of the channel blocks
};

/// The nodes of a transform in one part.
std::vector<Node> linearPasses(PassRoom& room, const std::string& name, const std::vector<PassAxis>& axes,
                               const PassChannels& channels, int in, int out);

}  // namespace cubejit
