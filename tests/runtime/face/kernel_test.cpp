// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of the face of kernels in the kernel language: does it say what the text declares, run on memory of the caller's, and refuse what it must?
#include "cubejit/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "cubejit/cubejit.hpp"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

const char* const kRows =
    "cubejit kernel 1\nkernel rows\nparameter M\nparameter by in 2 1\ninput X f32 [M, 20] strides [25, 1]\noutput Y "
    "f32 [M]\nindex j in 20\n"
    "parallel i in M by by\n  Y[i] = sum[j](X[i, j]) * 2\n";

class KernelFace : public ::testing::Test {
 protected:
  void SetUp() override {
    if (runnableIsas().empty()) GTEST_SKIP() << "nothing runs here";
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 25 < 20 ? i : 1000);
  }
  std::vector<float> x_ = std::vector<float>(7 * 25), y_ = std::vector<float>(7, -1);
};

TEST_F(KernelFace, SaysWhatTheTextDeclaresAndRuns) {
  const auto kernel = TiledKernel::create(kRows, {{"M", 7}}).value();
  EXPECT_EQ(kernel->name(), "rows");
  ASSERT_EQ(kernel->tensors().size(), 2U);
  EXPECT_EQ(kernel->tensors()[0].strides, (std::vector<std::int64_t>{25, 1}));
  EXPECT_EQ(kernel->tensors()[0].bytes, (6 * 25 + 20) * 4);
  EXPECT_TRUE(kernel->tensors()[1].output);
  EXPECT_EQ(kernel->parameters(), (KernelParameters{{"M", 7}, {"by", 2}}));
  EXPECT_THAT(kernel->program(), HasSubstr("combine sum"));
  for (const int threads : {0, 1, 3}) {
    std::fill(y_.begin(), y_.end(), -1.0F);
    ASSERT_TRUE(kernel->run({x_.data(), y_.data()}, nullptr, threads).ok());
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(y_[i], static_cast<float>(2 * (20 * 25 * i + 190)));
  }
  std::vector<float> again(7);
  ASSERT_TRUE(kernel->interpret({x_.data(), again.data()}).ok());
  EXPECT_EQ(again, y_);
  std::vector<std::thread> busy;
  for (int t = 0; t < 4; ++t) {
    busy.emplace_back([&] {
      std::vector<float> own(7);
      for (int n = 0; n < 100; ++n) {
        EXPECT_TRUE(kernel->run({x_.data(), own.data()}, nullptr, 2).ok());
        EXPECT_EQ(own, y_);
      }
    });
  }
  for (std::thread& t : busy) t.join();
}

TEST_F(KernelFace, RefusesWithEverythingThatIsWrong) {
  const auto told = [](const auto& result) { return result.ok() ? std::string() : result.error().message; };
  EXPECT_THAT(told(TiledKernel::create(kRows)), HasSubstr("line 3, column 11: M has no value"));
  Options chip;
  chip.machine = machineByName("ascend910b2").value();
  EXPECT_THAT(told(TiledKernel::create(kRows, {{"M", 7}}, chip)), HasSubstr("run on hosts"));
  const auto kernel = TiledKernel::create(kRows, {{"M", 7}}).value();
  EXPECT_THAT(told(kernel->run({x_.data()})), HasSubstr("rows has 2 tensors, here are 1 addresses"));
  EXPECT_THAT(told(kernel->run({nullptr, nullptr})), HasSubstr("X has no address\nY has no address"));
  EXPECT_THAT(told(kernel->run({x_.data(), x_.data() + 100})),
              HasSubstr("output Y overlaps X; it needs memory of its own"));
  EXPECT_TRUE(kernel->run({x_.data(), y_.data()}).ok());
  EXPECT_THAT(told(kernel->run({x_.data(), y_.data()}, nullptr, -1)),
              HasSubstr("threads = -1 must be at least 0; 0 is as many as the options or the process allow"));
  EXPECT_THAT(told(kernel->run({x_.data(), y_.data()}, reinterpret_cast<char*>(x_.data()) + 4)),
              HasSubstr("multiple of 64"));
}

TEST_F(KernelFace, DumpsWhatItWasGeneratedFrom) {
  const auto kernel = TiledKernel::create(kRows, {{"M", 7}}).value();
  const std::string root = ::testing::TempDir() + "cubejit_kernel_dump", isa = toString(runnableIsas().front());
  DumpRequest request{"tile,vector,bin,c-header", root, "", ""};
  const auto folder = kernel->dump(request);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(*folder, root + "/rows_M7_by2__" + isa);
  for (const char* file : {"kernel.tile", "parameters.json", "tile.txt", "meta.json", "repro.sh"})
    EXPECT_TRUE(std::filesystem::exists(*folder + "/" + file)) << file;
  EXPECT_TRUE(std::filesystem::exists(*folder + "/rows_M7_by2__" + isa + ".h"));
  request.kernels = "none such";
  EXPECT_EQ(kernel->dump(request).value(), "");
  request.stages = "tiles";
  EXPECT_THAT(kernel->dump(request).error().message, HasSubstr("the nearest is tile"));
  Options interpreted;
  interpreted.backend = BackendKind::kTileInterpreter;  // its code is shown all the same
  const auto other = TiledKernel::create(kRows, {{"M", 7}}, interpreted).value()->dump({"bin", root, "", ""});
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_TRUE(std::filesystem::exists(*other + "/k00_sum.bin"));
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace cubejit
