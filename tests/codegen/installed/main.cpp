// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: can a program with the installed kernel generator alone take a TileProgram to bytes?
#include <cstdio>

#include "codegen/backend.h"
#include "codegen/tile/verify.h"
#include "codegen/vector/legalize.h"
#include "codegen/vectorize.h"
#include "small_tile_program.h"

int main() {
  const cubejit::TileProgram program = cubejit::smallTileProgram();
  if (const cubejit::Status sound = cubejit::verify(program); !sound.ok())
    return std::fprintf(stderr, "%s\n", sound.error().message.c_str()), 1;
  std::size_t bytes = 0;
  for (const cubejit::Kernel& kernel : program.kernels) {
    const auto vectors = cubejit::vectorize(kernel, cubejit::avx2Isa());
    const auto legal = vectors.ok() ? cubejit::legalize(*vectors) : vectors;
    const auto code = legal.ok() ? cubejit::emitXbyak(*legal) : legal.error();
    if (!code.ok()) return std::fprintf(stderr, "%s\n", code.error().message.c_str()), 1;
    bytes += code->bytes.size();
  }
  std::printf("%zu bytes\n", bytes);
  return bytes > 0 ? 0 : 1;
}
