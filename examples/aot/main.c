/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A data gradient generated ahead of time: this program links gradient.o and knows nothing of the library that made it.
 * The object and its header were written by: cubejit dump --emit obj,c-header --symbol gradient (see CMakeLists.txt here).
 */
#include "gradient.h"

#include <stdio.h>
#include <stdlib.h>

/* dy is 1 x 12 x 12 x 16, w is 16 x 32 x 3 x 3, dx is 1 x 12 x 12 x 32; padding 1, channels last. */
enum { kSide = 12, kOut = 16, kIn = 32, kTaps = 3 };

static float value(size_t i) { return (float)(i * 7 % 13) - 6; } /* small whole numbers: sums are exact */

static float expected(const float* dy, const float* w, int h, int v, int channel) {
  float sum = 0;
  for (int kh = 0; kh < kTaps; ++kh) {
    for (int kw = 0; kw < kTaps; ++kw) {
      const int oh = h + 1 - kh, ow = v + 1 - kw;
      if (oh < 0 || oh >= kSide || ow < 0 || ow >= kSide) continue;
      for (int o = 0; o < kOut; ++o)
        sum += dy[(oh * kSide + ow) * kOut + o] * w[((o * kIn + channel) * kTaps + kh) * kTaps + kw];
    }
  }
  return sum;
}

int main(void) {
  if (!gradient_supported()) {
    puts("this CPU lacks what the kernels use");
    return 77; /* skipped */
  }
  const size_t pixels = (size_t)kSide * kSide, weights = (size_t)kOut * kIn * kTaps * kTaps;
  float* dy = malloc(sizeof(float) * pixels * kOut);
  float* w = malloc(sizeof(float) * weights);
  float* dx = malloc(sizeof(float) * pixels * kIn);
  void* workspace = aligned_alloc(64, GRADIENT_WORKSPACE_BYTES(1));
  if (dy == NULL || w == NULL || dx == NULL || workspace == NULL) return 1;
  for (size_t i = 0; i < pixels * kOut; ++i) dy[i] = value(i);
  for (size_t i = 0; i < weights; ++i) w[i] = value(i + 3);

  gradient_run(dy, w, dx, workspace);

  size_t wrong = 0;
  for (int h = 0; h < kSide; ++h) {
    for (int v = 0; v < kSide; ++v) {
      for (int c = 0; c < kIn; ++c) wrong += dx[(h * kSide + v) * kIn + c] != expected(dy, w, h, v, c);
    }
  }
  printf("%zu of %zu elements differ from the plain loops\n", wrong, pixels * kIn);
  free(workspace);
  free(dx);
  free(w);
  free(dy);
  return wrong == 0 ? 0 : 1;
}
