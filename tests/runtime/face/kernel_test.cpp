// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of the face of kernels in the kernel language: does it say what the text declares, run on memory of the caller's, and refuse what it must?
#include "cubejit/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "cubejit/cubejit.hpp"
#include "cubejit/machines.h"

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

TEST_F(KernelFace, AreGeneratedOnceForATextAndItsParameters) {
  const auto made = [](const KernelParameters& parameters, const Options& options = {}) {
    return TiledKernel::create(kRows, parameters, options).value();
  };
  const auto first = made({{"M", 9}});
  const auto same = [&](const std::unique_ptr<TiledKernel>& other) { return &other->tensors() == &first->tensors(); };
  EXPECT_TRUE(same(made({{"M", 9}})));
  EXPECT_FALSE(same(made({{"M", 8}})));
  EXPECT_FALSE(same(TiledKernel::create(std::string(kRows) + "; another text\n", {{"M", 9}}).value()));
  Options other;
  other.backend = BackendKind::kTileInterpreter;
  EXPECT_FALSE(same(made({{"M", 9}}, other)));
  other = {};
  other.store = "/nowhere/tune.db";  // whose choice of parameters may be another
  EXPECT_FALSE(same(made({{"M", 9}}, other)));
  other = {};
  other.cacheCapacity = 1;
  made({{"M", 10}}, other);
  EXPECT_FALSE(same(made({{"M", 9}}))) << "it was dropped for M = 10";
  std::vector<float> own(9), x(9 * 25, 1);
  ASSERT_TRUE(first->run({x.data(), own.data()}).ok()) << "what is dropped lives on with its holder";
  EXPECT_EQ(own, std::vector<float>(9, 40));
  Options chip;
  chip.machine = machineByName("ascend910b2").value();
  EXPECT_FALSE(TiledKernel::create(kRows, {{"M", 9}}, chip).ok()) << "what is kept is of hosts";
}

TEST_F(KernelFace, AreLetGoOfByTuning) {
  Options options;
  options.threads = 1;
  const auto first = TiledKernel::create(kRows, {{"M", 11}}, options).value();
  ASSERT_TRUE(TiledKernel::tune(kRows, {{"M", 11}}, options, 0.01).ok());
  EXPECT_NE(&TiledKernel::create(kRows, {{"M", 11}}, options).value()->tensors(), &first->tensors());
}

TEST_F(KernelFace, ManyThreadsOneGeneration) {
  std::vector<const std::vector<KernelTensor>*> found(8);
  std::vector<std::unique_ptr<TiledKernel>> kernels(found.size());
  std::vector<std::thread> busy;
  for (std::size_t t = 0; t < found.size(); ++t) {
    busy.emplace_back([&, t] {
      kernels[t] = TiledKernel::create(kRows, {{"M", 13}}).value();
      found[t] = &kernels[t]->tensors();
    });
  }
  for (std::thread& t : busy) t.join();
  for (const auto* tensors : found) EXPECT_EQ(tensors, found[0]);
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

TEST_F(KernelFace, ParametersFollowFromArrays) {
  const KernelSignature signature = KernelSignature::of(kRows).value();
  EXPECT_EQ(signature.name(), "rows");
  EXPECT_EQ(signature.inputs(), std::vector<std::string>{"X"});
  EXPECT_EQ(signature.outputs(), std::vector<std::string>{"Y"});
  EXPECT_EQ(signature.parameters(), (std::vector<std::string>{"M", "by"}));
  EXPECT_EQ(signature.parametersFor({{"X", DType::kF32, {7, 20}}}, {{"by", 1}}).value(),
            (KernelParameters{{"M", 7}, {"by", 1}}));
  const auto contradicted = signature.parametersFor({{"X", DType::kF32, {7, 21}}, {"Y", DType::kF32, {8}}});
  EXPECT_EQ(contradicted.error().message,
            "dimension 1 of X is 21; the kernel's is 20\ndimension 0 of Y is 8; M is 7 by dimension 0 of X");
  EXPECT_FALSE(KernelSignature::of("nonsense").ok());
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
