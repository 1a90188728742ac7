// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which extent goes next.
#include "tests/support/shrunk_problem.h"

#include <algorithm>

namespace cubejit {
namespace {

double multiplyAddsOf(const Problem& p) {
  const Dhw& sum = p.transposed ? p.in : p.out;
  return static_cast<double>(p.batch * p.cout) * static_cast<double>(p.cin / p.groups) *
         static_cast<double>(sum.volume()) * static_cast<double>(p.kernel.volume());
}

double mostElements(const Problem& p) {
  return static_cast<double>(std::max({xElements(p), yElements(p), wElements(p)}));
}

// Half, and as much above a multiple of 16 as before.
std::int64_t halfChannels(std::int64_t channels) {
  const std::int64_t half = channels / 2;
  return channels % 16 == 0 ? (half < 16 ? half : (half + 8) / 16 * 16) : half;
}

std::int64_t span(const Problem& p, int a) { return (p.kernel[a] - 1) * p.dilation[a] + 1; }

// Keeps what the last window leaves over of the image.
void setOut(Problem& p, int a, std::int64_t out, std::int64_t kernel) {
  const std::int64_t over = p.in[a] + p.padBefore[a] + p.padAfter[a] - span(p, a) - (p.out[a] - 1) * p.stride[a];
  p.kernel[a] = kernel;
  const std::int64_t most = span(p, a) - 1;  // pads no larger than the kernel reaches
  p.padBefore[a] = std::min(p.padBefore[a], most), p.padAfter[a] = std::min(p.padAfter[a], most);
  while (true) {
    p.out[a] = out;
    p.in[a] = (out - 1) * p.stride[a] + span(p, a) + over - p.padBefore[a] - p.padAfter[a];
    if (p.in[a] > 0) return;
    ++out;
  }
}

bool shrinkOnce(Problem& p) {
  const std::int64_t perGroupIn = p.cin / p.groups, perGroupOut = p.cout / p.groups;
  int axis = 0, taps = 0;
  for (int a = 1; a < 3; ++a) {
    axis = p.out[a] > p.out[axis] ? a : axis;
    taps = p.kernel[a] > p.kernel[taps] ? a : taps;
  }
  const std::int64_t largest = std::max({p.batch * 8, perGroupIn, perGroupOut, p.groups, p.out[axis] * 4});
  if (largest <= 8 || (largest <= 32 && p.kernel[taps] > 16)) {
    if (p.kernel[taps] == 1) return false;
    setOut(p, taps, p.out[taps], (p.kernel[taps] + 1) / 2);
  } else if (p.batch * 8 == largest) {
    p.batch = (p.batch + 1) / 2;
    if (p.batch * 8 == largest) p.batch = 1;
  } else if (p.out[axis] * 4 == largest) {
    setOut(p, axis, p.out[axis] / 2, p.kernel[axis]);
  } else if (perGroupIn == largest) {
    p.cin = p.groups * halfChannels(perGroupIn);
  } else if (perGroupOut == largest) {
    p.cout = p.groups * halfChannels(perGroupOut);
  } else {
    p.groups /= 2;
    p.cin = p.groups * perGroupIn, p.cout = p.groups * perGroupOut;
  }
  return true;
}

}  // namespace

Problem shrunkProblem(Problem p, double multiplyAdds, double elements) {
  for (int step = 0; step < 200 && (multiplyAddsOf(p) > multiplyAdds || mostElements(p) > elements); ++step) {
    if (!shrinkOnce(p)) break;
  }
  return p;
}

}  // namespace cubejit
