// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data and weight gradient of one convolution, from the shape to the numbers.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cubejit/cubejit.hpp"

int main() {
  constexpr std::size_t kPixels = 56 * 56, kChannels = 64, kTaps = 9;
  std::vector<float> x(kPixels * kChannels, 1), w(kChannels * kChannels * kTaps, 1), dy(x.size(), 1);
  std::vector<float> dx(x.size()), dw(w.size());

  // [readme]
  cubejit::Problem problem;  // y = conv(x, w): 3x3, padding 1, channels last
  problem.rank = 2;
  problem.cin = problem.cout = 64;
  problem.in = problem.out = {1, 56, 56};
  problem.kernel = {1, 3, 3};
  problem.padBefore = problem.padAfter = {0, 1, 1};

  cubejit::Session session;
  const auto compiled = session.compile(problem, {/*dx=*/true, /*dw=*/true, /*db=*/false});
  if (!compiled.ok()) return std::fprintf(stderr, "%s\n", compiled.error().message.c_str()), 1;
  const cubejit::Executable& gradients = **compiled;
  const std::size_t bytes = gradients.workspaceBytes();
  void* workspace = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  const auto done = gradients.run({dy.data(), x.data(), w.data(), dx.data(), dw.data(), nullptr}, workspace, bytes);
  // [readme]
  if (!done.ok()) return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;
  std::free(workspace);

  // All ones: an inner dx sums 64 channels x 9 taps, the middle tap of dw all 56 x 56 pixels.
  std::printf("dx[inner] = %g (576)  dw[middle] = %g (3136)\n", dx[(20 * 56 + 20) * kChannels], dw[4]);
  return dx[(20 * 56 + 20) * kChannels] == 576 && dw[4] == 3136 ? 0 : 1;
}
