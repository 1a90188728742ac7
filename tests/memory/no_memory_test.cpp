// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: where every allocation fails from the n-th on, or the n-th alone, does each face return an Error, whatever n is, and does it work
// again once there is memory? A signal ends the test, which is how an abort fails it, and so does a lock that was left behind.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/lower.h"
#include "codegen/tile/print.h"
#include "cubejit/cubejit.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/dump.h"
#include "cubejit/emulation.h"
#include "cubejit/machines.h"
#include "cubejit/npu.h"
#include "runtime/dump/folder.h"
#include "runtime/text/text_file.h"
#include "runtime/text/whole_file.h"
#include "runtime/tuning/store.h"
#include "runtime/tuning/store_file.h"
#include "runtime/verify/verify_problem.h"
#include "tests/memory/short_memory.h"
#include "tests/support/operands.h"
#include "tests/support/tuning_cases.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

// What a call came to: nothing if it succeeded.
using Failure = std::optional<Error>;

template <class T>
Failure failureOf(Result<T>&& result) {
  if (result.ok()) return std::nullopt;
  Error error;
  error.code = result.error().code;
  error.message = result.error().message.substr(0, 15);  // fits in a string without memory of its own
  return error;
}

// Calls with ever more memory, about `runs` times, until it is enough; a shortage that passes may also be survived.
template <class Call>
void sweep(const Call& call, Shortage shortage, std::int64_t runs) {
  const Failure before = call();
  ASSERT_FALSE(before) << before->message;
  std::int64_t all = 0;
  {
    const ShortMemory plenty(std::int64_t{1} << 60);
    ASSERT_FALSE(call());
  }
  all = allocationsAsked();
  ASSERT_GT(all, 0);
  std::size_t failures = 0;
  // The faces themselves are where the first and the last allocations are, so none of those is left out.
  const std::int64_t step = std::max<std::int64_t>(1, all / runs);
  for (std::int64_t granted = 0; granted <= all;
       granted += granted < 40 || granted + 40 >= all ? 1 : std::min(step, all - 40 - granted)) {
    Failure failure;
    {
      const ShortMemory memory(granted, shortage);
      failure = call();
    }
    if (failure) {
      ++failures;
      EXPECT_TRUE(failure->code == ErrorCode::kLimitExceeded || failure->code == ErrorCode::kIo)
          << granted << " of " << all << " allocations: " << toString(failure->code) << ", " << failure->message;
      EXPECT_NE(failure->message, "") << granted;
    }
    const Failure after = call();
    ASSERT_FALSE(after) << "with memory again, after " << granted << " of " << all << ": " << after->message;
  }
  EXPECT_GT(failures, 0U) << "no run was short of memory";
}

template <class Call>
void sweep(const Call& call, std::int64_t runs = 60) {
  for (const Shortage shortage : {Shortage::kStays, Shortage::kPasses}) {
    SCOPED_TRACE(shortage == Shortage::kStays ? "the shortage stays" : "the shortage passes");
    sweep(call, shortage, runs);
    if (testing::Test::HasFatalFailure()) return;
  }
}

Options plainOptions(BackendKind backend = kUsualBackend) {
  Options options;
  options.backend = backend;
  options.threads = 2;
  options.wakeCycles = 0;  // so that two threads have something to do
  return options;
}

Problem layer() { return smallConvolution(); }

TEST(NoMemory, Sessions) {
  sweep([] {
    Session session;
    return failureOf(session.plan(layer(), Pass::kDx));
  });
  sweep([] {
    Session session{Options{}};
    return failureOf(session.plan(layer(), Pass::kDw, true));
  });
}

TEST(NoMemory, Compilations) {
  const CompileRequest request{layer(), kAllGradients, {}};
  for (const BackendKind backend : {BackendKind::kXbyak, BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    sweep([&] {
      Session session(plainOptions(backend));
      return failureOf(session.compile(request));
    });
  }
}

// Streams of the standard library go on without what they had no memory for.
TEST(NoMemory, TextIsWholeOrNone) {
  Session session(plainOptions());
  const auto plan = session.plan(layer(), Pass::kDx);
  ASSERT_TRUE(plan.ok());
  const auto program = lower(layer(), plan->plan, session.machine());
  ASSERT_TRUE(program.ok());
  const std::string whole = print(*program, Detail::kFull);
  for (std::int64_t granted = 0;; ++granted) {
    std::optional<std::string> text;
    try {
      const ShortMemory memory(granted, Shortage::kPasses);
      text = print(*program, Detail::kFull);
    } catch (const std::bad_alloc&) {
    }
    if (text) {
      ASSERT_EQ(*text, whole) << granted << " allocations";
    }
    if (allocationsAsked() <= granted) break;
  }
}

// A cache must not keep what was not finished, nor lose count of what it keeps.
TEST(NoMemory, ASessionThatFailedCompilesTheSameProblem) {
  Session session(plainOptions());
  sweep([&] {
    session.clear();
    return failureOf(session.compile(layer(), kAllGradients));
  });
  EXPECT_EQ(session.statistics().entries, 1U);
}

TEST(NoMemory, Runs) {
  for (const BackendKind backend : {BackendKind::kXbyak, BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    Session session(plainOptions(backend));
    const auto compiled = session.compile(layer(), kAllGradients);
    ASSERT_TRUE(compiled.ok());
    const Executable& executable = **compiled;
    Operands operands(layer());
    const std::size_t bytes = executable.workspaceBytes();
    const std::unique_ptr<void, decltype(&std::free)> workspace(std::aligned_alloc(64, (bytes + 63) / 64 * 64),
                                                                std::free);
    ASSERT_TRUE(executable.run(operands.tensors(), workspace.get(), bytes).ok());
    const std::vector<float> right = operands.dx;
    sweep(
        [&]() -> Failure {
          std::fill(operands.dx.begin(), operands.dx.end(), -1.0F);
          Status done = executable.run(operands.tensors(), workspace.get(), bytes);
          // What is said to be computed is.
          if (done.ok())
            return operands.dx == right ? Failure() : Failure(Error{ErrorCode::kInternal, Stage::kRun, "wrong dx"});
          return failureOf(std::move(done));
        },
        40);
  }
}

TEST(NoMemory, Verification) {
  Session session(plainOptions());
  VerifyRequest request;
  request.problem = layer();
  request.passes = kAllGradients;
  // The verifier is the command's, which catches what it throws.
  sweep([&]() -> Failure {
    try {
      const VerifyOutcome outcome = verifyProblem(session, request);
      if (outcome.verdict == VerifyOutcome::Verdict::kPassed) return std::nullopt;
      const bool wrong = outcome.verdict == VerifyOutcome::Verdict::kFailed && !outcome.refused;
      return Error{outcome.refused.value_or(wrong ? ErrorCode::kInternal : ErrorCode::kLimitExceeded), Stage::kRun,
                   "not passed"};
    } catch (const std::bad_alloc&) {
      return Error{ErrorCode::kLimitExceeded, Stage::kRun, "out of memory"};
    }
  });
}

TEST(NoMemory, Dumps) {
  const ScratchFolder folder("no_memory_dump");
  const Session session(plainOptions());
  CompileRequest request{layer(), {true, false, false}, {}};
  const DumpRequest dump{"problem,plan,tile,vector,bin,c-header", folder.file("d"), "", ""};
  sweep([&] { return failureOf(cubejit::dump(session, request, dump)); }, 60);
}

// So few allocations that none is left out. A folder of files appears whole or not at all, and what it replaces, with a folder of the
// user's in it, goes.
TEST(NoMemory, FoldersOfFiles) {
  const ScratchFolder folder("no_memory_folder");
  const std::string root = folder.file("root"), inside = root + "/name/inside";
  const FolderFiles files{{"a", "1"}, {"a name that is longer than what a string holds without memory", "2"}};
  sweep(
      [&] {
        mkdir(inside.c_str(), 0700);
        return failureOf(withoutThrowing(Stage::kRun, [&] { return writeFolder(root, "name", files); }));
      },
      1'000'000);
  const auto left = namesIn(root);
  ASSERT_TRUE(left.ok()) << left.error().message;
  EXPECT_EQ(*left, std::vector<std::string>{"name"});
  sweep([&] { return failureOf(withoutThrowing(Stage::kRun, [&] { return namesIn(root + "/name"); })); }, 1'000'000);
}

// What is added twice waits for a lock that the first one left; what is written beside its place does not stay there.
TEST(NoMemory, Files) {
  const ScratchFolder folder("no_memory_files");
  const std::string text = folder.file("added"), whole = folder.file("whole");
  const auto inFull = [&](auto&& body) {
    sweep([&] { return failureOf(withoutThrowing(Stage::kRun, body)); }, 1'000'000);
  };
  inFull([&]() -> Status {
    unlink(text.c_str());
    CUBEJIT_RETURN_IF_ERROR(appendWhole(text, "one line\n", 0600, Links::kRefuse));
    return appendWhole(text, "another that needs memory of its own\n", 0600, Links::kRefuse);
  });
  inFull([&] { return readText(text, "two lines", Stage::kRun); });
  inFull([&] { return writeWholeFile(whole, "contents"); });
  inFull([&]() -> Status {
    const StoreLock held(text);
    return createStoreFile(folder.file("store"));
  });
  EXPECT_EQ(*readText(text, "two lines", Stage::kRun), "one line\nanother that needs memory of its own\n");
  EXPECT_EQ(*namesIn(folder.file("")), (std::vector<std::string>{"added", "added.lock", "store", "whole"}));
}

TEST(NoMemory, Chips) {
  sweep([] { return failureOf(machineByName("910b")); });
  const auto chip = machineByName("910b");
  ASSERT_TRUE(chip.ok());
  sweep([&] { return failureOf(planOnNpu(layer(), Pass::kDw, *chip)); }, 60);
  Operands operands(layer());
  EmulationRequest request;
  request.problem = layer();
  request.pass = Pass::kDx;
  request.machine = *chip;
  sweep(
      [&]() -> Failure {
        auto emulation = Emulation::create(request, plainOptions());
        if (!emulation.ok()) return failureOf(std::move(emulation));
        return failureOf((*emulation)->run(operands.tensors()));
      },
      60);
}

TEST(NoMemory, Records) {
  const ScratchFolder folder("no_memory_store");
  const std::string path = folder.file("store.db");
  const TuneKey key = keyFor(layer());
  const TuneRecord record = winnerFor(key, 0.9);
  std::size_t aside = 0;
  sweep([&]() -> Failure {
    // The store is behind a Session's face, which catches what it throws.
    try {
      StoreNotes notes;
      auto store = TuningStore::open(path, StoreAccess::kReadWrite, &notes);
      if (!store.ok()) return failureOf(std::move(store));
      for (const std::string& note : notes) aside += note.find("damaged") != std::string::npos ? 1 : 0;
      const Status kept = (*store)->add(record);
      if (!kept.ok()) return failureOf(Status(kept));
      auto found = (*store)->winners(key, version());
      if (found.ok() && found->size() != 1) return Error{ErrorCode::kInternal, Stage::kPlan, "record lost"};
      return failureOf(std::move(found));
    } catch (const std::bad_alloc&) {
      return Error{ErrorCode::kLimitExceeded, Stage::kPlan, "out of memory"};
    }
  });
  EXPECT_EQ(aside, 0U) << "a sound store was taken for a damaged one";
}

TEST(NoMemory, PlansFromRecords) {
  const ScratchFolder folder("no_memory_known");
  Options options = plainOptions();
  options.tune = TuneMode::kUse;
  options.store = folder.file("store.db");
  options.pins = folder.file("pins.jsonl");
  {
    const auto store = TuningStore::open(options.store, StoreAccess::kReadWrite, nullptr);
    ASSERT_TRUE(store.ok() && (*store)->add(winnerFor(keyFor(layer()), 0.9)).ok());
  }
  sweep(
      [&]() -> Failure {
        try {
          Session session(options);  // the copy of the options is the caller's own
          return failureOf(session.compile(layer(), {true, false, false}));
        } catch (const std::bad_alloc&) {
          return Error{ErrorCode::kLimitExceeded, Stage::kPlan, "out of memory"};
        }
      },
      60);
}

TEST(NoMemory, TheCFace) {
  cubejit_problem problem = cubejit_default_problem();
  problem.cin = problem.cout = 16;
  for (const int axis : {1, 2}) {
    problem.in[axis] = problem.out[axis] = 12;
    problem.kernel[axis] = 3;
    problem.pad_before[axis] = problem.pad_after[axis] = 1;
  }
  problem.rank = 2;
  const cubejit_options options = cubejit_default_options();
  const auto failure = [](cubejit_status status) {
    Error error;
    error.code = status == CUBEJIT_LIMIT_EXCEEDED ? ErrorCode::kLimitExceeded : ErrorCode::kInternal;
    error.message.assign(cubejit_last_error(),
                         std::min<std::size_t>(15, std::string_view(cubejit_last_error()).size()));
    return error;
  };
  sweep([&]() -> Failure {
    cubejit_session* session = nullptr;
    cubejit_executable* executable = nullptr;
    cubejit_plan_report report{};
    report.struct_size = sizeof(report);
    cubejit_kernel kernel{};
    kernel.struct_size = sizeof(kernel);
    cubejit_status status = cubejit_session_create(&options, &session);
    if (status == CUBEJIT_OK) status = cubejit_plan(session, &problem, CUBEJIT_DX, &report);
    if (status == CUBEJIT_OK) status = cubejit_compile(session, &problem, CUBEJIT_DX, &executable);
    if (status == CUBEJIT_OK) status = cubejit_get_kernel(executable, 0, &kernel);
    cubejit_executable_destroy(executable);
    cubejit_session_destroy(session);
    return status == CUBEJIT_OK ? Failure() : Failure(failure(status));
  });
  // The longest message there is, about a call that breaks a rule, is not worth an abort either.
  const cubejit_options wrong = [&] {
    cubejit_options o = options;
    o.isa = 99;
    return o;
  }();
  for (std::int64_t granted = 0; granted < 40; ++granted) {
    cubejit_session* session = nullptr;
    const ShortMemory memory(granted);
    const cubejit_status status = cubejit_session_create(&wrong, &session);
    ASSERT_TRUE(status == CUBEJIT_LIMIT_EXCEEDED || status == CUBEJIT_INVALID_PROBLEM);
    ASSERT_NE(*cubejit_last_error(), '\0');
  }
}

}  // namespace
}  // namespace cubejit
