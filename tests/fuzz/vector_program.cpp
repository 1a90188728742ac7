// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of random VectorPrograms whether code does what the interpreter says, before and after they are legalised. An input is what they
// are drawn from: a seed and their shape.
#include <memory>

#include "codegen/backend.h"
#include "codegen/vector/interpret.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/print.h"
#include "tests/fuzz/target.h"
#include "tests/support/random_arena.h"
#include "tests/support/run_code.h"

using namespace cubejit;

namespace {

void agree(const VectorProgram& program, IsaLevel level, unsigned seed) {
  const auto legal = legalize(program);
  fuzz::hold(legal.ok(), "a sound program is legalised", print(program));
  const auto plain = std::make_unique<RandomArena>(seed), rewritten = std::make_unique<RandomArena>(seed);
  fuzz::hold(interpret(program, plain->args()).ok() && interpret(*legal, rewritten->args()).ok(), "it is interpreted",
             print(program));
  fuzz::hold(plain->guardsIntact(), "it stays in its memory", print(program));
  fuzz::hold(std::memcmp(plain->c, rewritten->c, sizeof plain->c) == 0, "legalised it means the same",
             print(program) + print(*legal));
#if defined(__x86_64__)
  const auto code = emitXbyak(*legal);
  fuzz::hold(code.ok(), "a legal program is emitted", print(*legal));
  if (!hostRuns(level)) return;
  const auto native = std::make_unique<RandomArena>(seed);
  fuzz::hold(runCode(*code, native->args()), "code is mapped");
  fuzz::hold(std::memcmp(plain->c, native->c, sizeof plain->c) == 0, "code does the same", print(*legal));
#else
  static_cast<void>(level);
#endif
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const auto seed = bytes.take<std::uint32_t>();
  const IsaLevel level = kAllIsaLevels[bytes.take<std::uint8_t>() % 5];
  std::mt19937 random(seed);
  RandomShape shape;
  shape.instructions = 1 + bytes.take<std::uint8_t>();
  shape.vectors = 2 + bytes.take<std::uint8_t>() % (mostRandomVectors(isaOf(level)) - 1);
  shape.masks = bytes.take<std::uint8_t>() % 2 != 0;
  agree(randomVectorProgram(random, isaOf(level), shape), level, seed);
  return 0;
}
