/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The data gradient of one convolution, from C.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cubejit/cubejit.h"

enum { kPixels = 56 * 56, kChannels = 64, kTaps = 9 };

static int fail(const char* step) {
  fprintf(stderr, "%s: %s\n", step, cubejit_last_error());
  return 1;
}

int main(void) {
  cubejit_problem problem = cubejit_default_problem(); /* 2D, 3x3, padding 1, channels last */
  problem.rank = 2;
  problem.cin = problem.cout = kChannels;
  for (int axis = 1; axis < 3; ++axis) {
    problem.in[axis] = problem.out[axis] = 56;
    problem.kernel[axis] = 3;
    problem.pad_before[axis] = problem.pad_after[axis] = 1;
  }

  cubejit_session* session = NULL;
  cubejit_executable* executable = NULL;
  if (cubejit_session_create(NULL, &session) != CUBEJIT_OK) return fail("session");
  if (cubejit_compile(session, &problem, CUBEJIT_DX, &executable) != CUBEJIT_OK) return fail("compile");

  const size_t bytes = cubejit_workspace_bytes(executable, 0);
  void* workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
  float* dy = malloc(sizeof(float) * kPixels * kChannels);
  float* w = malloc(sizeof(float) * kChannels * kChannels * kTaps);
  float* dx = malloc(sizeof(float) * kPixels * kChannels);
  if (dy == NULL || w == NULL || dx == NULL) return 1;
  for (size_t i = 0; i < (size_t)kPixels * kChannels; ++i) dy[i] = 1;
  for (size_t i = 0; i < (size_t)kChannels * kChannels * kTaps; ++i) w[i] = 1;

  cubejit_tensors tensors = cubejit_default_tensors();
  tensors.dy = dy;
  tensors.w = w;
  tensors.dx = dx;
  if (cubejit_run(executable, &tensors, workspace, bytes, 0) != CUBEJIT_OK) return fail("run");

  /* All ones: an inner element sums 64 channels x 9 taps, the corner 64 x 4. */
  const float inner = dx[(20 * 56 + 20) * kChannels], corner = dx[0];
  printf("dx[inner] = %g (576)  dx[corner] = %g (256)\n", inner, corner);
  free(dx);
  free(w);
  free(dy);
  free(workspace);
  cubejit_executable_destroy(executable);
  cubejit_session_destroy(session);
  return inner == 576 && corner == 256 ? 0 : 1;
}
