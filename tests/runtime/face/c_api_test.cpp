// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does the C face give what the C++ face gives, and an error for everything else?
#include "cubejit/cubejit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cubejit/float16.h"
#include "runtime/host/aligned_memory.h"
#include "tests/support/operands.h"

namespace cubejit {
namespace {

cubejit_problem square(std::int64_t batch, std::int64_t cin, std::int64_t cout, std::int64_t size) {
  cubejit_problem p = cubejit_default_problem();
  p.rank = 2;
  p.batch = batch;
  p.cin = cin;
  p.cout = cout;
  for (const int axis : {1, 2}) {
    p.in[axis] = p.out[axis] = size;
    p.kernel[axis] = 3;
    p.pad_before[axis] = p.pad_after[axis] = 1;
  }
  return p;
}

using SessionHandle = std::unique_ptr<cubejit_session, decltype(&cubejit_session_destroy)>;
using ExecutableHandle = std::unique_ptr<cubejit_executable, decltype(&cubejit_executable_destroy)>;

SessionHandle makeSession(const cubejit_options* options = nullptr) {
  cubejit_session* session = nullptr;
  EXPECT_EQ(cubejit_session_create(options, &session), CUBEJIT_OK) << cubejit_last_error();
  return {session, &cubejit_session_destroy};
}

ExecutableHandle compile(cubejit_session* session, const cubejit_problem& problem, int passes) {
  cubejit_executable* executable = nullptr;
  EXPECT_EQ(cubejit_compile(session, &problem, passes, &executable), CUBEJIT_OK) << cubejit_last_error();
  return {executable, &cubejit_executable_destroy};
}

TEST(CApi, RelaxedMathAllowsWinograd) {
  const SessionHandle handle = makeSession();
  cubejit_problem problem = square(2, 64, 64, 30);
  const auto lanes = [&] {
    cubejit_plan_report report{};
    report.struct_size = sizeof(report);
    EXPECT_EQ(cubejit_plan(handle.get(), &problem, CUBEJIT_DX, &report), CUBEJIT_OK) << cubejit_last_error();
    return std::string(report.plan);
  };
  EXPECT_EQ(lanes().find("algorithm=winograd"), std::string::npos);
  problem.math = CUBEJIT_MATH_RELAXED;
  EXPECT_NE(lanes().find("algorithm=winograd"), std::string::npos) << lanes();
}

TEST(CApi, ComputesWhatTheCppFaceComputes) {
  const Problem p = squareProblem(2, 8, 12, 9);
  Session session;
  Operands want(p);
  ASSERT_TRUE(want.run(*session.compile(p, kAllGradients).value(), 2).ok());

  const SessionHandle handle = makeSession();
  const ExecutableHandle executable = compile(handle.get(), square(2, 8, 12, 9), CUBEJIT_DX | CUBEJIT_DW | CUBEJIT_DB);
  ASSERT_NE(executable, nullptr);
  Operands got(p);
  const Tensors t = got.tensors();
  cubejit_tensors tensors = cubejit_default_tensors();
  tensors.dy = t.dy;
  tensors.x = t.x;
  tensors.w = t.w;
  tensors.dx = t.dx;
  tensors.dw = t.dw;
  tensors.db = t.db;
  const std::size_t bytes = cubejit_workspace_bytes(executable.get(), 2);
  const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (bytes + 127) / 64 * 64),
                                                              &std::free);
  ASSERT_EQ(cubejit_run(executable.get(), &tensors, workspace.get(), bytes, 2), CUBEJIT_OK) << cubejit_last_error();
  EXPECT_EQ(got.dx, want.dx);
  EXPECT_EQ(got.dw, want.dw);
  EXPECT_EQ(got.db, want.db);

  std::fill(got.dx.begin(), got.dx.end(), 0.0F);
  ASSERT_EQ(cubejit_run(executable.get(), &tensors, workspace.get(), bytes, 0), CUBEJIT_OK)
      << "0 threads: the session's choice: " << cubejit_last_error();
  EXPECT_EQ(got.dx, want.dx);
  std::fill(got.dx.begin(), got.dx.end(), 0.0F);
  const auto untouched = got.dx;
  for (const int threads : {-1, -5, std::numeric_limits<int>::min()}) {
    EXPECT_EQ(cubejit_run(executable.get(), &tensors, workspace.get(), bytes, threads), CUBEJIT_INVALID_PROBLEM);
    EXPECT_NE(std::string(cubejit_last_error()).find("threads = " + std::to_string(threads) + " must be at least 0"),
              std::string::npos)
        << cubejit_last_error();
    EXPECT_EQ(cubejit_workspace_bytes(executable.get(), threads), cubejit_workspace_bytes(executable.get(), 0));
  }
  EXPECT_EQ(got.dx, untouched);
  EXPECT_EQ(cubejit_run(executable.get(), &tensors, workspace.get(), 0, 2), CUBEJIT_INVALID_PROBLEM);
  EXPECT_NE(std::string(cubejit_last_error()).find("workspace has 0 bytes"), std::string::npos) << cubejit_last_error();
}

TEST(CApi, CompilesForAnEmulatedChip) {
  Problem p = squareProblem(2, 8, 12, 9);
  cubejit_problem problem = square(2, 8, 12, 9);
  Operands want(p), got(p);
  ASSERT_TRUE(want.run(*Session().compile(p, kAllGradients).value(), 2).ok());
  cubejit_options options = cubejit_default_options();
  options.machine = "ascend910b2";
  for (const int fast : {0, 1}) {
    options.elide_copies = fast;
    const SessionHandle handle = makeSession(&options);
    const ExecutableHandle executable = compile(handle.get(), problem, CUBEJIT_DX | CUBEJIT_DW | CUBEJIT_DB);
    ASSERT_NE(executable, nullptr);
    cubejit_tensors tensors = cubejit_default_tensors();
    const Tensors t = got.tensors();
    tensors.dy = t.dy, tensors.x = t.x, tensors.w = t.w;
    tensors.dx = t.dx, tensors.dw = t.dw, tensors.db = t.db;
    const std::size_t bytes = cubejit_workspace_bytes(executable.get(), 2);
    const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                                                                &std::free);
    ASSERT_EQ(cubejit_run(executable.get(), &tensors, workspace.get(), bytes, 2), CUBEJIT_OK) << cubejit_last_error();
    EXPECT_EQ(got.dx, want.dx);
    EXPECT_EQ(got.dw, want.dw);
    EXPECT_EQ(got.db, want.db);
    const char* json = nullptr;
    for (const int pass : {CUBEJIT_DX, CUBEJIT_DW, CUBEJIT_DB}) {
      ASSERT_EQ(cubejit_emulation_report(executable.get(), pass, &json), CUBEJIT_OK) << cubejit_last_error();
      EXPECT_NE(std::string(json).find(R"("schema":"cubejit.soc_run/1","soc":"ascend910b2")"), std::string::npos)
          << json;
    }
    EXPECT_EQ(cubejit_emulation_report(executable.get(), 3, &json), CUBEJIT_INVALID_PROBLEM);
  }
  options.machine = "ascend9";
  cubejit_session* none = nullptr;
  EXPECT_EQ(cubejit_session_create(&options, &none), CUBEJIT_UNSUPPORTED);
  EXPECT_NE(std::string(cubejit_last_error()).find("ascend910"), std::string::npos) << cubejit_last_error();
  options.struct_size = offsetof(cubejit_options, machine);  // of a caller that does not know what follows
  const SessionHandle older = makeSession(&options);
  const ExecutableHandle host = compile(older.get(), problem, CUBEJIT_DX);
  const char* json = nullptr;
  EXPECT_EQ(cubejit_emulation_report(host.get(), CUBEJIT_DX, &json), CUBEJIT_UNSUPPORTED);
}

// y of ones: 9 taps of 16 channels, fewer at the edges. Structs of callers that know nothing of y are taken, and compute what they can.
TEST(CApi, ForwardAndCallersOfBeforeIt) {
  const SessionHandle session = makeSession();
  cubejit_problem p = square(1, 16, 8, 4);
  p.y_format = cubejit_format{1, CUBEJIT_F16, CUBEJIT_NCDHW, {0, 0, 0, 0, 0}, 0};
  const ExecutableHandle forward = compile(session.get(), p, CUBEJIT_Y);
  std::vector<float> x(16 * 16, 1), w(8 * 16 * 9, 1), dy(8 * 16, 1), dx(x.size());
  std::vector<std::uint16_t> y(8 * 16);
  cubejit_tensors tensors = cubejit_default_tensors();
  tensors.x = x.data(), tensors.w = w.data(), tensors.y = y.data();
  const std::size_t bytes = std::max(cubejit_workspace_bytes(forward.get(), 1), std::size_t{1} << 20);
  const AlignedMemory workspace = alignedMemory(bytes);
  ASSERT_EQ(cubejit_run(forward.get(), &tensors, workspace.get(), bytes, 1), CUBEJIT_OK) << cubejit_last_error();
  EXPECT_EQ(f16ToFloat(y[5]), 144.0F);  // plain: the second row's second pixel
  EXPECT_EQ(f16ToFloat(y[0]), 64.0F);
  tensors.y = nullptr;
  EXPECT_EQ(cubejit_run(forward.get(), &tensors, workspace.get(), bytes, 1), CUBEJIT_INVALID_PROBLEM);
  EXPECT_NE(std::string(cubejit_last_error()).find("y is null"), std::string::npos) << cubejit_last_error();

  cubejit_problem old = square(1, 16, 8, 4);
  old.struct_size = offsetof(cubejit_problem, reserved);
  cubejit_tensors before = cubejit_default_tensors();
  before.struct_size = offsetof(cubejit_tensors, y);
  before.dy = dy.data(), before.w = w.data(), before.dx = dx.data();
  const ExecutableHandle backward = compile(session.get(), old, CUBEJIT_DX);
  EXPECT_EQ(cubejit_run(backward.get(), &before, workspace.get(), bytes, 1), CUBEJIT_OK) << cubejit_last_error();
  EXPECT_EQ(dx[5 * 16], 72.0F);  // channels-last: the same pixel
  old.struct_size -= 8;
  cubejit_executable* none = nullptr;
  EXPECT_EQ(cubejit_compile(session.get(), &old, CUBEJIT_DX, &none), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(cubejit_compile(session.get(), &p, 32, &none), CUBEJIT_INVALID_PROBLEM);
  EXPECT_NE(std::string(cubejit_last_error()).find("16 (y)"), std::string::npos) << cubejit_last_error();
}

TEST(CApi, PlansKernelsAndStatistics) {
  const SessionHandle session = makeSession();
  const cubejit_problem p = square(1, 16, 16, 8);
  cubejit_plan_report report{};
  report.struct_size = sizeof(report);
  ASSERT_EQ(cubejit_plan(session.get(), &p, CUBEJIT_DX, &report), CUBEJIT_OK) << cubejit_last_error();
  EXPECT_GT(report.predicted_cycles, 0);
  EXPECT_NE(std::string(report.plan).find("pass=dx"), std::string::npos) << report.plan;
  EXPECT_NE(std::string(report.bound), "");

  const ExecutableHandle first = compile(session.get(), p, CUBEJIT_DX), second = compile(session.get(), p, CUBEJIT_DX);
  const std::size_t count = cubejit_kernel_count(first.get());
  ASSERT_GT(count, 0U);
  for (std::size_t i = 0; i < count; ++i) {
    cubejit_kernel kernel{};
    kernel.struct_size = sizeof(kernel);
    ASSERT_EQ(cubejit_get_kernel(first.get(), i, &kernel), CUBEJIT_OK);
    EXPECT_EQ(kernel.pass, CUBEJIT_DX);
    ASSERT_GT(kernel.byte_count, 0U);
    EXPECT_EQ(0, std::memcmp(kernel.entry, kernel.bytes, kernel.byte_count));
    EXPECT_NE(std::string(kernel.vector_program), "");
  }
  cubejit_kernel none{};
  none.struct_size = sizeof(none);
  EXPECT_EQ(cubejit_get_kernel(first.get(), count, &none), CUBEJIT_INVALID_PROBLEM);

  cubejit_statistics statistics{};
  statistics.struct_size = sizeof(statistics);
  ASSERT_EQ(cubejit_session_statistics(session.get(), &statistics), CUBEJIT_OK);
  EXPECT_EQ(statistics.misses, 1);
  EXPECT_EQ(statistics.hits, 1);
  EXPECT_EQ(statistics.struct_size, sizeof(statistics));
}

TEST(CApi, NullsAreErrors) {
  const SessionHandle session = makeSession();
  const cubejit_problem p = square(1, 4, 4, 5);
  cubejit_executable* executable = nullptr;
  EXPECT_EQ(cubejit_session_create(nullptr, nullptr), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(cubejit_compile(nullptr, &p, CUBEJIT_DX, &executable), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(cubejit_compile(session.get(), nullptr, CUBEJIT_DX, &executable), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(cubejit_compile(session.get(), &p, CUBEJIT_DX, nullptr), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(cubejit_run(nullptr, nullptr, nullptr, 0, 1), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(cubejit_session_statistics(session.get(), nullptr), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(cubejit_workspace_bytes(nullptr, 1), 0U);
  EXPECT_EQ(cubejit_kernel_count(nullptr), 0U);
  cubejit_session_destroy(nullptr);
  cubejit_executable_destroy(nullptr);
  EXPECT_EQ(executable, nullptr);
}

TEST(CApi, WrongValuesAreErrors) {
  const SessionHandle session = makeSession();
  cubejit_executable* executable = nullptr;
  const auto code = [&](const cubejit_problem& p, int passes = CUBEJIT_DX) {
    return cubejit_compile(session.get(), &p, passes, &executable);
  };
  cubejit_problem p = square(1, 4, 4, 5);
  EXPECT_EQ(code(p, 0), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(code(p, 8), CUBEJIT_INVALID_PROBLEM);
  p.out[1] = 17;
  p.groups = 3;
  EXPECT_EQ(code(p), CUBEJIT_INVALID_PROBLEM);
  EXPECT_NE(std::string(cubejit_last_error()).find('\n'), std::string::npos) << "both rules: " << cubejit_last_error();
  p = square(1, 4, 4, 5);
  p.dtype = 9;
  EXPECT_EQ(code(p), CUBEJIT_INVALID_PROBLEM);
  p = square(1, 4, 4, 5);
  p.reserved = 1;
  EXPECT_EQ(code(p), CUBEJIT_INVALID_PROBLEM);
  p = square(1, 4, 4, 5);
  p.layout = 4;
  EXPECT_EQ(code(p), CUBEJIT_INVALID_PROBLEM);
  p = square(1, 4, 4, 5);
  p.struct_size = 0;
  EXPECT_EQ(code(p), CUBEJIT_INVALID_PROBLEM);

  cubejit_options options = cubejit_default_options();
  cubejit_session* none = nullptr;
  options.backend = 7;
  EXPECT_EQ(cubejit_session_create(&options, &none), CUBEJIT_INVALID_PROBLEM);
  options = cubejit_default_options();
  options.isa = 8;
  EXPECT_EQ(cubejit_session_create(&options, &none), CUBEJIT_INVALID_PROBLEM);
  options = cubejit_default_options();
  options.threads = -1;
  EXPECT_EQ(cubejit_session_create(&options, &none), CUBEJIT_INVALID_PROBLEM);
  options = cubejit_default_options();
  options.reserved = 1;
  EXPECT_EQ(cubejit_session_create(&options, &none), CUBEJIT_INVALID_PROBLEM);
  options = cubejit_default_options();
  options.mem_limit = ~std::uint64_t{0};
  EXPECT_EQ(cubejit_session_create(&options, &none), CUBEJIT_INVALID_PROBLEM);
  EXPECT_EQ(none, nullptr);
}

TEST(CApi, ALimitOfWorkspaceHolds) {
  cubejit_problem problem = square(8, 64, 64, 14);
  problem.layout = CUBEJIT_NCDHW;
  const SessionHandle free = makeSession();
  const ExecutableHandle fastest = compile(free.get(), problem, CUBEJIT_DX);
  ASSERT_NE(fastest, nullptr);
  const std::size_t bytes = cubejit_workspace_bytes(fastest.get(), 0);
  ASSERT_GT(bytes, 64U);
  cubejit_options options = cubejit_default_options();
  options.mem_limit = bytes - 1;
  const SessionHandle limited = makeSession(&options);
  const ExecutableHandle smaller = compile(limited.get(), problem, CUBEJIT_DX);
  EXPECT_TRUE(smaller == nullptr || cubejit_workspace_bytes(smaller.get(), 0) < bytes);
  options.mem_limit = 1;
  const SessionHandle none = makeSession(&options);
  cubejit_executable* executable = nullptr;
  EXPECT_EQ(cubejit_compile(none.get(), &problem, CUBEJIT_DX, &executable), CUBEJIT_LIMIT_EXCEEDED);
  EXPECT_NE(std::string(cubejit_last_error()).find("bytes of workspace"), std::string::npos);
}

TEST(CApi, LongerStructsOfLaterVersions) {
  struct Later {
    cubejit_problem known;
    std::int64_t added;
  } later{square(1, 4, 4, 5), 0};
  later.known.struct_size = sizeof(later);
  const SessionHandle session = makeSession();
  cubejit_executable* executable = nullptr;
  ASSERT_EQ(cubejit_compile(session.get(), &later.known, CUBEJIT_DB, &executable), CUBEJIT_OK) << cubejit_last_error();
  cubejit_executable_destroy(executable);
  later.added = 1;
  EXPECT_EQ(cubejit_compile(session.get(), &later.known, CUBEJIT_DB, &executable), CUBEJIT_UNSUPPORTED);
}

TEST(CApi, ErrorsBelongToTheirThread) {
  EXPECT_EQ(cubejit_session_create(nullptr, nullptr), CUBEJIT_INVALID_PROBLEM);
  const std::string mine = cubejit_last_error();
  EXPECT_NE(mine, "");
  std::thread([] { EXPECT_EQ(std::string(cubejit_last_error()), ""); }).join();
  EXPECT_EQ(cubejit_last_error(), mine);
}

TEST(CApi, TheCallersPoolIsUsed) {
  int asked = 0;
  cubejit_options options = cubejit_default_options();
  options.parallel_for = [](void* user, int count, void (*body)(void*, int), void* context) {
    ++*static_cast<int*>(user);
    for (int i = 0; i < count; ++i) body(context, i);
  };
  options.parallel_for_user = &asked;
  const SessionHandle session = makeSession(&options);
  const ExecutableHandle executable = compile(session.get(), square(4, 32, 32, 24), CUBEJIT_DX);
  Operands operands(squareProblem(4, 32, 32, 24));
  const Tensors t = operands.tensors();
  cubejit_tensors tensors = cubejit_default_tensors();
  tensors.dy = t.dy;
  tensors.w = t.w;
  tensors.dx = t.dx;
  const std::size_t bytes = cubejit_workspace_bytes(executable.get(), 2);
  const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (bytes + 127) / 64 * 64),
                                                              &std::free);
  ASSERT_EQ(cubejit_run(executable.get(), &tensors, workspace.get(), bytes, 2), CUBEJIT_OK) << cubejit_last_error();
  EXPECT_GT(asked, 0);
}

}  // namespace
}  // namespace cubejit
