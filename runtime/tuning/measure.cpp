// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the data: reals without denormals from a repeated table, so that filling gigabytes takes no time.
#include "runtime/tuning/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "cubejit/float16.h"
#include "cubejit/index_map.h"
#include "runtime/tuning/digest.h"
#include "runtime/verify/random_problem.h"

namespace cubejit {
namespace {

constexpr std::int64_t kTableValues = 4099;  // prime: rows of tensors do not repeat one another

void fill(void* data, std::int64_t bytes, DType type, const std::vector<float>& table) {
  const std::int64_t size = byteSize(type);
  for (std::int64_t i = 0; i < bytes / size; ++i) {
    const float value = table[static_cast<std::size_t>(i % kTableValues)];
    const std::uint16_t half = type == DType::kF16 ? floatToF16(value) : floatToBf16(value);
    std::memcpy(static_cast<char*>(data) + i * size, size == 2 ? static_cast<const void*>(&half) : &value,
                static_cast<std::size_t>(size));
  }
}

}  // namespace

class Workload::Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes), data_(std::aligned_alloc(64, bytes / 64 * 64 + 64)) {}
  ~Memory() { std::free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_;
};

Workload::Workload(const Problem& problem) : problem_(problem) {}
Workload::~Workload() = default;

Result<std::unique_ptr<Workload>> Workload::create(const Problem& p, PassMask mask) {
  std::unique_ptr<Workload> workload(new Workload(p));
  std::mt19937_64 random(1);
  const std::vector<float> table = randomReals(random, kTableValues);
  for (std::size_t i = 0; i < kTensors; ++i) {
    const auto tensor = static_cast<TensorId>(i);
    bool needed = passesRead(p, mask, tensor);
    for (const Pass g : kPasses) needed = needed || (mask.has(g) && resultOf(g) == tensor);
    const std::int64_t bytes = needed ? formatBytes(p, tensor) : 0;
    workload->tensors_.push_back(std::make_unique<Memory>(static_cast<std::size_t>(bytes)));
    void* data = workload->tensors_.back()->data();
    if (data == nullptr) return Error{ErrorCode::kLimitExceeded, Stage::kRun, "no memory for the tensors of " + p.name};
    if (!isResult(tensor) || passesRead(p, mask, tensor)) fill(data, bytes, formatOf(p, tensor).dtype, table);
  }
  return workload;
}

Result<std::int64_t> Workload::run(const Executable& executable) {
  const std::size_t bytes = executable.workspaceBytes(0, packed_ != nullptr);
  if (workspace_ == nullptr || workspace_->bytes() < bytes) workspace_ = std::make_unique<Memory>(bytes);
  if (workspace_->data() == nullptr) {
    workspace_.reset();
    return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                 "no memory for a workspace of " + std::to_string(bytes) + " bytes"};
  }
  const Tensors tensors{tensors_[0]->data(),
                        tensors_[1]->data(),
                        tensors_[2]->data(),
                        tensors_[3]->data(),
                        tensors_[4]->data(),
                        tensors_[5]->data(),
                        packed_ == nullptr ? nullptr : packed_->data(),
                        tensors_[6]->data(),
                        tensors_[7]->data(),
                        tensors_[8]->data()};
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  CUBEJIT_RETURN_IF_ERROR(executable.run(tensors, workspace_->data(), bytes));
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  return std::max<std::int64_t>(1, ns);
}

std::string Workload::resultDigest(Pass pass) const {
  const Memory& result = *tensors_[static_cast<std::size_t>(resultOf(pass))];
  Digest digest;
  digest.add(result.data(), result.bytes());
  return digest.text();
}

Status Workload::keepWeights(const Executable& executable) {
  const std::size_t bytes = executable.packedWeightsBytes();
  auto packed = std::make_unique<Memory>(bytes);
  CUBEJIT_TRY(done, executable.packWeights(tensors_[2]->data(), packed->data(), bytes));
  packed_ = std::move(packed);
  return done;
}

}  // namespace cubejit
