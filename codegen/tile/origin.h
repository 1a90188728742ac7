// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where an element of a workspace buffer comes from, or goes to, by following the program's moves, and what contracts
// copy: packed weights and panels are explained by what copies them, so no lowering has to say how it laid them out.
// Leaves naming an element of a tensor to who knows the tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// An element in memory: bytes from the beginning of a buffer. buffer -1: zero padding that no tensor holds.
struct Place {
  int buffer = -1;
  std::int64_t offset = 0;
  friend bool operator==(const Place& x, const Place& y) = default;
};

/// The moment of a call: calls of one task run in the order of `order`; tasks of a phase in any order.
struct Moment {
  std::size_t phase = 0;
  std::int64_t task = 0, order = 0;
};

/// How a program uses one of its kernels, with one call picked as the example that listings speak about.
struct KernelUse {
  std::int64_t calls = 0;  ///< in the whole program; 0 = never called
  std::int64_t fewestRepeats = 0, mostRepeats = 0;
  std::vector<int> lists;  ///< of all calls, each once
  bool truncated = false;  ///< there are more calls than were looked at
  // The example: of the calls that fill the most sections of their list, the first.
  Moment moment;
  std::string phaseName, callName;
  std::array<Place, 4> at;  ///< of a, b, c, d; buffer -1 where the call has none
  std::array<std::int64_t, 4> repeatStep{};
  std::int64_t repeat = 1;
  int list = -1;
  bool accumulate = false;
};

/// One entry per kernel of the program. Precondition of both functions: the program obeys its rules (verify).
std::vector<KernelUse> kernelUses(const TileProgram& program);

enum class Follow : std::uint8_t { kCameFrom, kGoesTo };

struct OriginQuestion {
  Place place;  ///< read, or written, by the call at `when`
  Moment when;
  Follow follow = Follow::kCameFrom;
};

/// Which moves lead on: all, also those that compute, whose results are sums on their way to a tensor; or only those that bring elements as they are.
enum class Moves : std::uint8_t { kAll, kCopies };

/// Per question, the element of a tensor (or constant) that the place holds, or a contract's result that no move carries on: then
/// the place where the trail ends.
std::vector<Place> followMoves(const TileProgram& program, const std::vector<OriginQuestion>& questions,
                               Moves moves = Moves::kAll);

}  // namespace cubejit
