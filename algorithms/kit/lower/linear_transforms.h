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

/// The channels of a box, side by side in vectors.
struct PassChannels {
  int lanes = 16;
  std::int64_t vectorsAtOnce = 1;
  bool maskLoads = false, maskStores = false;  ///< the tensor on that side ends with the last channel
  int windowAxis = -1;                         ///< its class picks the channels; -1: there is one range
  std::vector<Range> ranges;                   ///< by class; what lies before, in the same vectorsAtOnce, comes along
  Epilogue* epilogue = nullptr;                ///< of what the last pass stores
};

/// What the transforms of a program share: one buffer of coefficients, two private temporaries, and their streams in a phase.
class PassRoom {
 public:
  explicit PassRoom(ProgramBuilder& b) : b_(b) {}
  /// Streams are those of the phase that has begun.
  void enterPhase() { coefficients_ = temporaries_[0] = temporaries_[1] = -1; }

  int coefficients();
  /// Where the matrix lies in the coefficients, bytes.
  std::int64_t place(const Matrix& matrix);
  /// The stream of temporary 0 or 1, which holds at least so many bytes.
  int temporary(std::size_t index, std::int64_t bytes);
  ProgramBuilder& builder() { return b_; }

 private:
  ProgramBuilder& b_;
  int constants_ = -1;
  std::array<int, 2> buffers_{-1, -1};
  int coefficients_ = -1;
  std::array<int, 2> temporaries_{-1, -1};
};

/// Vector registers that passes may use: where masks are registers, three are theirs.
inline std::int64_t passRegisters(const HostIsa& isa) { return isa.vectorRegs - (isa.maskRegs > 0 ? 0 : 3); }

/// Vectors a pass can take at once: accumulators, operands and a coefficient in registers.
std::int64_t passVectors(const std::vector<PassAxis>& axes, std::int64_t registers, std::int64_t most);

/// The nodes of the transform from stream `in` to stream `out`; `name` is that of their axes and kernels.
std::vector<Node> linearPasses(PassRoom& room, const std::string& name, const std::vector<PassAxis>& axes,
                               const PassChannels& channels, int in, int out);

}  // namespace cubejit
