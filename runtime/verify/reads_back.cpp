// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/verify/reads_back.h"

#include "codegen/tile/parse.h"
#include "codegen/tile/print.h"
#include "codegen/vector/parse.h"
#include "codegen/vector/print.h"
#include "runtime/loader/generate.h"

namespace cubejit {
namespace {

template <class Program>
Status same(const Program& program, const std::string& text, const Result<Program>& read) {
  if (read.ok() && *read == program) return Unit{};
  return Error{ErrorCode::kInternal, Stage::kTile,
               "the text of " + program.name +
                   (read.ok() ? " is that of another program" : " does not read back: " + read.error().message) + "\n" +
                   text};
}

}  // namespace

Status readsBack(const CompiledPass& program) {
  const std::string tile = print(program.tile, Detail::kFull);
  CUBEJIT_RETURN_IF_ERROR(same(program.tile, tile, parseTileProgram(tile)));
  for (const VectorProgram& vector : program.vectors) {
    const std::string text = print(vector);
    CUBEJIT_RETURN_IF_ERROR(same(vector, text, parseVectorProgram(text)));
  }
  return Unit{};
}

}  // namespace cubejit
