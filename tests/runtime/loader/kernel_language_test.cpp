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
#include "tests/support/verify_plan.h"

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
    Options options = eagerOptions(level);
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
      const auto kernel = n == 0 ? first : lang::parse(file.text, otherSettings(file.text, *first, random));
      ASSERT_TRUE(kernel.ok()) << kernel.error().message;
      agree(*kernel, static_cast<unsigned>(n));
    }
  }
}

TEST_P(CompiledKernels, OfRandomTexts) {
  if (!hostRuns(std::get<0>(GetParam()))) GTEST_SKIP() << "no such instructions";
  // Others for each level, the same for both backends: more than 2,000 in all.
  constexpr unsigned kKernels = 700;
  const unsigned first = 5000 + kKernels * static_cast<unsigned>(std::get<0>(GetParam()));
  for (unsigned n = 0; n < kKernels && !HasFailure(); ++n) {
    const std::string text = RandomKernel(first + n).text();
    SCOPED_TRACE(text);
    const auto kernel = lang::parse(text, {});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    agree(*kernel, n);
  }
}

class CompiledProducts : public CompiledKernels {};

// Pairs that are copied, transposed, and formed by the kernel; rows of vectors' tiles and of a matrix unit's.
TEST_P(CompiledProducts, OfPairsOfBf16) {
  if (!hostRuns(std::get<0>(GetParam()))) GTEST_SKIP() << "no such instructions";
  struct Form {
    const char *a, *b, *lets, *sum;
  };
  constexpr Form kForms[] = {
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n", "sum[k](A[i, k] * panel[k, j])"},
      {"[M, K]", "[N, K]", "  let panel[k, j] = B[j, k]\n", "sum[k](A[i, k] * panel[k, j])"},
      {"[M, K]", "[K, N]", "  let panel[k, j] = B[k, j]\n", "tanh(sum[k](A[i, k] * panel[k, j])) * 2"},
      {"[M, K]", "[K, N]", "", "sum[k](A[i, k] * B[k, j])"}};
  unsigned n = 0;
  for (const Form& form : kForms) {
    for (const char* rows : {"3", "20"}) {
      for (const char* k : {"64", "77", "1"}) {
        if (rows[0] == '2' && *form.lets == 0) continue;  // more sums than registers
        const std::string text =
            std::string("cubejit kernel 1\nkernel gemm\nparameter M = 43\nparameter N = 75\nparameter K = ") + k +
            "\ninput A bf16 " + form.a + "\ninput B bf16 " + form.b +
            "\noutput C f32 [M, N]\nindex k in K\nparallel j in N by " + (rows[0] == '2' ? "16" : "32") + "\n" +
            form.lets + "  loop i in M by " + rows + "\n    C[i, j] = " + form.sum + "\n";
        SCOPED_TRACE(text);
        const auto kernel = lang::parse(text, {});
        ASSERT_TRUE(kernel.ok()) << kernel.error().message;
        agree(*kernel, ++n);
        if (HasFailure()) return;
      }
    }
  }
}

std::string nameOf(const testing::TestParamInfo<std::tuple<IsaLevel, BackendKind>>& test) {
  return std::string(toString(std::get<0>(test.param))) + "_" + toString(std::get<1>(test.param));
}

INSTANTIATE_TEST_SUITE_P(Isa, CompiledProducts,
                         testing::Combine(testing::Values(IsaLevel::kAvx512Bf16, IsaLevel::kAvx512Amx),
                                          testing::Values(BackendKind::kXbyak, BackendKind::kLlvm)),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(Isa, CompiledKernels,
                         testing::Combine(testing::Values(IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAvx512Bf16),
                                          testing::Values(BackendKind::kXbyak, BackendKind::kLlvm)),
                         nameOf);

}  // namespace
}  // namespace cubejit
