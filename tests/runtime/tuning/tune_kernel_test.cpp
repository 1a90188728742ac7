// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does tuning a kernel try each choice that its text allows, once, keep what it measured, believe no wrong result, and is what won used?
#include "runtime/tuning/tune_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cubejit/cubejit.hpp"
#include "cubejit/kernel.h"
#include "runtime/tuning/kernel_lab.h"
#include "runtime/tuning/store.h"
#include "tests/support/tuning_cases.h"

namespace cubejit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// There are eight choices of rows and twice, and `require` refuses three of them. The type is not varied: the input has it.
constexpr const char* kRows =
    "cubejit kernel 1\nkernel rows\nparameter N = 100\nparameter T in f32 bf16\nparameter rows in 4 1 2 8\nparameter "
    "twice in 0 1\n"
    "require rows + 8 * twice <= 12\nrequire rows - 8 * twice >= -4\n"
    "input X T [16, N]\noutput Y f32 [16]\nindex j in N\nparallel i in 16 by rows\n  Y[i] = sum[j](X[i, j] * 2)\n";

class TuneKernel : public ::testing::Test {
 protected:
  static Options optionsWith(const std::string& store) {
    Options options;
    options.threads = 1;
    options.tune = TuneMode::kUse;
    options.store = store;
    return options;
  }
  Result<KernelTuneOutcome> tune(const std::string& text, const lang::Settings& fixed = {}) {
    KernelTuneSetup setup;
    setup.text = text;
    setup.fixed = fixed;
    setup.mostSeconds = 60;
    setup.tried = [this](const KernelRecord& record) { told_.push_back(record.settings); };
    return tuneKernel(setup, session_.machine(), session_.options());
  }
  ScratchFolder folder_{"tune_kernel"};
  const Session session_{optionsWith(folder_.file("tune.db"))};
  std::vector<std::string> told_;
};

TEST_F(TuneKernel, TriesEachChoiceOnceAndKeepsIt) {
  const auto first = tune(kRows);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->choices, 8);
  EXPECT_EQ(first->tried, 4);
  EXPECT_TRUE(first->exhausted);
  EXPECT_EQ(first->untuned.settings, "rows=4,twice=0");
  EXPECT_GT(first->untuned.samplesNs.size(), 0U);
  const auto again = tune(kRows);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->tried, 0);
  EXPECT_EQ(again->known, 4);
  // What another length has measured says nothing of this one.
  EXPECT_EQ(tune(kRows, {{"N", "90"}})->known, 0);
  EXPECT_EQ(tune(kRows, {{"rows", "2"}})->choices, 2);
}

TEST_F(TuneKernel, WhatWonIsUsed) {
  const auto store = TuningStore::open(session_.options().store, StoreAccess::kReadWrite, nullptr).value();
  auto found = tune(kRows);
  ASSERT_TRUE(found.ok());
  KernelRecord winner = found->untuned;
  winner.settings = "rows=8,twice=0";
  winner.untuned = false;
  winner.relative = 0.01;
  winner.unixTime += 10;
  winner.run = "another";
  ASSERT_TRUE(store->addKernel(winner).ok());
  const auto rowsOf = [&](const KernelParameters& parameters, TuneMode mode) {
    Options options = optionsWith(session_.options().store);
    options.tune = mode;
    return TiledKernel::create(kRows, parameters, options).value()->parameters().at("rows").text();
  };
  EXPECT_EQ(rowsOf({}, TuneMode::kUse), "8");
  EXPECT_EQ(rowsOf({}, TuneMode::kOff), "4");
  EXPECT_EQ(rowsOf({{"N", 90}}, TuneMode::kUse), "4");
  EXPECT_EQ(rowsOf({{"T", DType::kBf16}}, TuneMode::kUse), "4");
  // A winner is no more than what its text allows, and what a file says is a stranger's.
  for (const char* settings : {"rows=3,twice=0", "rows=8", "rows=8,twice=0,N=3", "rows=8,twice=1", ""}) {
    winner.settings = settings;
    winner.relative = 0.001;
    ASSERT_TRUE(store->addKernel(winner).ok());
    const Session session(optionsWith(session_.options().store));
    EXPECT_EQ(withTunedSettings(kRows, {}, session.machine(), session.options()).at("rows"), "8") << settings;
  }
  EXPECT_TRUE(store->all()->empty()) << "records of problems";
}

// Parameters that change what is computed are no tuning parameters.
TEST_F(TuneKernel, WrongResultsDoNotWin) {
  KernelLab lab(
      "cubejit kernel 1\nkernel k\nparameter f in 1 2\ninput X f32 [40]\noutput Y f32 [40]\nindex i in 40\nY[i] = X[i] "
      "* f\n",
      session_.machine(), session_.options());
  ASSERT_TRUE(lab.load(kUntuned, {{"f", "1"}}).ok());
  EXPECT_TRUE(lab.verify(kUntuned).ok());
  ASSERT_TRUE(lab.load(1, {{"f", "2"}}).ok());
  const LabReply wrong = lab.verify(1);
  EXPECT_EQ(wrong.status, TrialStatus::kWrong);
  EXPECT_THAT(wrong.message, HasSubstr("Y: element 0 is "));
  EXPECT_EQ(lab.verify(7).status, TrialStatus::kFailed);
}

TEST_F(TuneKernel, SaysWhatCannotBeTuned) {
  EXPECT_THAT(tune(kRows, {{"rows", "1"}, {"twice", "0"}}).error().message, HasSubstr("has no parameter to vary"));
  EXPECT_THAT(tune("nonsense").error().message, HasSubstr("line 1"));
  // The first choice needs more registers than there are; the error says which one it was.
  const auto large = tune(
      "cubejit kernel 1\nkernel k\nparameter m in 40 4\ninput A f32 [40, 9]\ninput B f32 [9, 32]\noutput C f32 [40, "
      "32]\n"
      "index k in 9\nindex j in 32\nloop i in 40 by m\n  C[i, j] = sum[k](A[i, k] * B[k, j])\n");
  ASSERT_FALSE(large.ok());
  EXPECT_THAT(large.error().message, AllOf(HasSubstr("k with m=40 is refused"), HasSubstr("vector registers")));
}

TEST_F(TuneKernel, GoesOnWithoutAStore) {
  const Options options = optionsWith(folder_.file("."));
  const Session session(options);
  KernelTuneSetup setup;
  setup.text = kRows;
  setup.mostTrials = 2;
  const auto found = tuneKernel(setup, session.machine(), session.options());
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->tried, 2);
  EXPECT_THAT(found->notes, ::testing::Contains(HasSubstr("not kept")));
}

}  // namespace
}  // namespace cubejit
