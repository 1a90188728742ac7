// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of kernels in the kernel language: does the code of both backends, on one thread and on several, leave the interpreter's bits, and do
// those say what the text says?
#include <gtest/gtest.h>

#include <random>

#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "codegen/tile/interpret_program.h"
#include "cubejit/cubejit.hpp"
#include "runtime/exec/launch.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/loader/load_programs.h"
#include "tests/support/kernel_operands.h"
#include "tests/support/random_kernel.h"
#include "tests/support/run_code.h"

namespace cubejit {
namespace {

class CompiledKernels : public testing::TestWithParam<std::tuple<IsaLevel, BackendKind>> {
 protected:
  void agree(const lang::Source& kernel, unsigned seed) {
    const auto [level, backend] = GetParam();
    const auto program = lang::lower(kernel, isaOf(level));
    if (!program.ok()) return;  // lang_lower_test asks why
    KernelOperands wanted(kernel, *program, seed);
    ASSERT_TRUE(interpret(*program, wanted.addresses()).ok());
    ASSERT_LE(wanted.distance(), 1e-3);  // lang_lower_test asks more of kernels that do not cancel
    Options options;
    options.isa = level;
    options.backend = backend;
    const Session session(options);
    LoadedCode code;
    const auto part = compileProgram(*program, session.machine(), session.options(), code);
    ASSERT_TRUE(part.ok()) << part.error().message;
    for (const int threads : {1, 3}) {
      KernelOperands got(kernel, *program, seed);
      const AlignedMemory workspace = alignedMemory((*part)->launch->workspaceBytes(threads));
      (*part)->launch->run(got.addresses(), nullptr, static_cast<char*>(static_cast<void*>(workspace.get())),
                           Team{threads, options.parallelFor, false, 0});
      EXPECT_EQ(wanted.memory(), got.memory()) << threads << " threads";
    }
  }
};

TEST_P(CompiledKernels, LeaveTheInterpretersBits) {
  if (!hostRuns(std::get<0>(GetParam()))) GTEST_SKIP() << "no such instructions";
  std::mt19937 random(9);
  for (const KernelFile& file : kernelFiles()) {
    const auto first = lang::parse(file.text, {});
    ASSERT_TRUE(first.ok()) << first.error().message;
    for (int n = 0; n < 3 && !HasFailure(); ++n) {
      SCOPED_TRACE(file.name);
      const auto kernel = n == 0 ? first : lang::parse(file.text, otherSettings(*first, random));
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      agree(*kernel, static_cast<unsigned>(n));
    }
  }
}

TEST_P(CompiledKernels, OfRandomTexts) {
  if (!hostRuns(std::get<0>(GetParam()))) GTEST_SKIP() << "no such instructions";
  const unsigned kernels = std::get<1>(GetParam()) == BackendKind::kLlvm ? 100 : 1000;
  for (unsigned n = 0; n < kernels && !HasFailure(); ++n) {
    const std::string text = RandomKernel(5000 + n).text();
    SCOPED_TRACE(text);
    const auto kernel = lang::parse(text, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    agree(*kernel, n);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, CompiledKernels,
                         testing::Combine(testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512),
                                          testing::Values(BackendKind::kXbyak, BackendKind::kLlvm)),
                         [](const auto& test) {
                           return std::string(toString(std::get<0>(test.param))) + "_" +
                                  toString(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace cubejit
