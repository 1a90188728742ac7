// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are weights packed once as good as weights packed every time, until the caller packs anew; is foreign memory refused?
#include "runtime/pipeline/packed_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "cubejit/cubejit.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/verify/guarded_buffer.h"
#include "tests/support/operands.h"

namespace cubejit {
namespace {

using testing::HasSubstr;

struct Aligned {
  explicit Aligned(std::size_t bytes) : memory(alignedMemory(bytes)), data(memory.get()) {
    std::memset(data, 0, bytes);
  }
  AlignedMemory memory;
  char* data;
};

class PackedWeights : public testing::Test {
 protected:
  void SetUp() override {
    auto compiled = session_.compile(problem_, {true, true, false}, WeightsUse::kKept);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    executable_ = *compiled;
  }
  std::vector<float> dxOf(const Tensors& tensors) {
    const std::size_t bytes = executable_->workspaceBytes(0, tensors.packedW != nullptr);
    GuardedBuffer workspace(bytes);
    std::fill(operands_.dx.begin(), operands_.dx.end(), -77.0F);
    const Status done = executable_->run(tensors, workspace.data(), bytes);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return operands_.dx;
  }
  std::string refusal(const Tensors& tensors) {
    Aligned workspace(executable_->workspaceBytes());
    const Status done = executable_->run(tensors, workspace.data, executable_->workspaceBytes());
    return done.ok() ? "" : done.error().message;
  }

  Problem problem_ = squareProblem(2, 40, 24, 9);
  Session session_;
  std::shared_ptr<const Executable> executable_;
  Operands operands_{problem_};
};

TEST_F(PackedWeights, AreNotReservedInTheWorkspaceOnceMore) {
  executable_ = *session_.compile(problem_, maskOf(Pass::kDx), WeightsUse::kKept);
  const std::size_t packed = executable_->packedWeightsBytes() - 64;  // but for the line that says whose they are
  for (const int threads : {1, 3})
    EXPECT_EQ(executable_->workspaceBytes(threads, true) + packed, executable_->workspaceBytes(threads));
}

TEST_F(PackedWeights, ServeManyRunsUntilPackedAnew) {
  const std::size_t bytes = executable_->packedWeightsBytes();
  ASSERT_GT(bytes, 64U);
  Tensors tensors = operands_.tensors();
  const std::vector<float> want = dxOf(tensors);
  Aligned packed(bytes);
  std::vector<float> w(static_cast<const float*>(tensors.w),
                       static_cast<const float*>(tensors.w) + wElements(problem_));
  ASSERT_TRUE(executable_->packWeights(w.data(), packed.data, bytes).ok());
  tensors.w = nullptr;
  tensors.packedW = packed.data;
  EXPECT_EQ(dxOf(tensors), want);
  for (float& value : w) value *= 2;
  EXPECT_EQ(dxOf(tensors), want) << "nothing watches w";
  ASSERT_TRUE(executable_->packWeights(w.data(), packed.data, bytes).ok());
  std::vector<float> twice = want;
  for (float& value : twice) value *= 2;
  EXPECT_EQ(dxOf(tensors), twice);
  // Another executable of the same problem, and memory that moved.
  Session other;
  executable_ = *other.compile(problem_, {true, false, false}, WeightsUse::kKept);
  Aligned moved(bytes);
  std::memcpy(moved.data, packed.data, bytes);
  tensors.packedW = moved.data;
  EXPECT_EQ(dxOf(tensors), twice);
}

TEST_F(PackedWeights, ForeignMemoryIsRefused) {
  Tensors tensors = operands_.tensors();
  const std::size_t bytes = executable_->packedWeightsBytes();
  Aligned packed(bytes);
  tensors.packedW = packed.data;
  EXPECT_THAT(refusal(tensors), HasSubstr("was not filled by packWeights()")) << "never packed";
  Session session;
  Problem p = problem_;
  p.padBefore = p.padAfter = Dhw{0, 0, 0};
  p.out = Dhw{1, 7, 7};
  const auto other = session.compile(p, {true, false, false}, WeightsUse::kKept);
  ASSERT_TRUE(other.ok());
  Aligned foreign((*other)->packedWeightsBytes());
  ASSERT_TRUE((*other)->packWeights(tensors.w, foreign.data, (*other)->packedWeightsBytes()).ok());
  tensors.packedW = foreign.data;
  EXPECT_THAT(refusal(tensors), HasSubstr("equal problem"));
  tensors.packedW = packed.data + 4;
  EXPECT_THAT(refusal(tensors), HasSubstr("aligned"));
  tensors.packedW = nullptr;
  tensors.w = nullptr;
  EXPECT_THAT(refusal(tensors), HasSubstr("w is null"));
}

TEST_F(PackedWeights, WrongCallsNameEveryRule) {
  const std::size_t bytes = executable_->packedWeightsBytes();
  Aligned packed(bytes);
  const void* w = operands_.tensors().w;
  const auto message = [&](const void* from, void* to, std::size_t size, int threads = 0) {
    const Status done = executable_->packWeights(from, to, size, threads);
    return done.ok() ? std::string() : done.error().message;
  };
  EXPECT_THAT(message(nullptr, packed.data + 4, bytes - 1),
              testing::AllOf(HasSubstr("w is null"), HasSubstr("64 bytes"), HasSubstr(std::to_string(bytes))));
  EXPECT_THAT(message(w, nullptr, bytes), HasSubstr("packed is null"));
  EXPECT_THAT(message(w, packed.data, bytes, -5), HasSubstr("threads = -5 must be at least 0"));
  EXPECT_EQ(message(w, packed.data, bytes, 1 << 30), "") << "as many as are used";
  EXPECT_THAT(message(packed.data, packed.data, bytes), HasSubstr("overlap"));
  const auto noWeights = session_.compile(problem_, {false, true, false}, WeightsUse::kKept);
  ASSERT_TRUE(noWeights.ok());
  EXPECT_EQ((*noWeights)->packedWeightsBytes(), 0U);
  const Status none = (*noWeights)->packWeights(w, packed.data, bytes);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
}

TEST_F(PackedWeights, ThroughC) {
  cubejit_session* session = nullptr;
  cubejit_executable* executable = nullptr;
  ASSERT_EQ(cubejit_session_create(nullptr, &session), CUBEJIT_OK);
  cubejit_problem p = cubejit_default_problem();
  p.rank = 2;
  p.layout = CUBEJIT_NDC1HWC0;
  p.dtype = CUBEJIT_BF16;
  p.cin = p.cout = 16;
  p.in[1] = p.in[2] = p.out[1] = p.out[2] = 4;
  p.formats[CUBEJIT_TENSOR_W] = cubejit_format{1, CUBEJIT_F32, CUBEJIT_FRACTAL_Z_3D, {0, 0, 0, 0, 0}, 0};
  ASSERT_EQ(cubejit_compile(session, &p, CUBEJIT_DX | CUBEJIT_KEEP_WEIGHTS, &executable), CUBEJIT_OK)
      << cubejit_last_error();
  const std::size_t bytes = cubejit_packed_weights_bytes(executable);
  ASSERT_GT(bytes, 0U);
  // w is the unit matrix, so dx is dy.
  std::vector<float> w(16 * 16);
  for (std::size_t i = 0; i < 16; ++i) w[i / 8 * 128 + i * 8 + i % 8] = 1;
  std::vector<std::uint16_t> dy(256), dx(256);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<std::uint16_t>(0x3f80 + i % 128);
  Aligned packed(bytes), workspace(cubejit_workspace_bytes(executable, 1));
  EXPECT_EQ(cubejit_pack_weights(executable, w.data(), packed.data, bytes - 1, 1), CUBEJIT_INVALID_PROBLEM);
  ASSERT_EQ(cubejit_pack_weights(executable, w.data(), packed.data, bytes, 1), CUBEJIT_OK) << cubejit_last_error();
  cubejit_tensors tensors = cubejit_default_tensors();
  tensors.dy = dy.data();
  tensors.dx = dx.data();
  tensors.packed_w = packed.data;
  ASSERT_EQ(cubejit_run(executable, &tensors, workspace.data, cubejit_workspace_bytes(executable, 1), 1), CUBEJIT_OK)
      << cubejit_last_error();
  EXPECT_EQ(dx, dy);
  EXPECT_EQ(cubejit_packed_weights_bytes(nullptr), 0U);
  EXPECT_EQ(cubejit_pack_weights(nullptr, w.data(), packed.data, bytes, 1), CUBEJIT_INVALID_PROBLEM);
  p.formats[CUBEJIT_TENSOR_W].layout = 17;
  cubejit_executable* none = nullptr;
  EXPECT_EQ(cubejit_compile(session, &p, CUBEJIT_DX, &none), CUBEJIT_INVALID_PROBLEM);
  EXPECT_THAT(cubejit_last_error(), HasSubstr("w: layout = 17"));
  cubejit_executable_destroy(executable);
  cubejit_session_destroy(session);
}

}  // namespace
}  // namespace cubejit
