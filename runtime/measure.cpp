// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the data: reals without denormals from a repeated table, so that filling gigabytes takes no time.
#include "runtime/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

#include "runtime/verify/random_problem.h"

namespace cubejit {
namespace {

constexpr std::int64_t kTableValues = 4099;  // prime: rows of tensors do not repeat one another

}  // namespace

class Workload::Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes), data_(std::aligned_alloc(64, bytes / 64 * 64 + 64)) {}
  ~Memory() { std::free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_;
};

Workload::Workload(const Problem& problem) : problem_(problem) {}
Workload::~Workload() = default;

Result<std::unique_ptr<Workload>> Workload::create(const Problem& p, GradientMask mask) {
  std::unique_ptr<Workload> workload(new Workload(p));
  const bool x = mask.dw, w = mask.dx;
  const std::int64_t elements[] = {yElements(p),           x ? xElements(p) : 0,       w ? wElements(p) : 0,
                                   mask.dx ? xElements(p) : 0, mask.dw ? wElements(p) : 0, mask.db ? bElements(p) : 0};
  std::mt19937_64 random(1);
  const std::vector<float> table = randomReals(random, kTableValues);
  constexpr std::size_t kInputs = 3;
  for (const std::int64_t count : elements) {
    workload->tensors_.push_back(std::make_unique<Memory>(static_cast<std::size_t>(count) * 4));
    float* values = workload->tensors_.back()->floats();
    if (values == nullptr)
      return Error{ErrorCode::kLimitExceeded, Stage::kRun, "no memory for the tensors of " + p.name};
    if (workload->tensors_.size() > kInputs) continue;
    for (std::int64_t i = 0; i < count; ++i) values[i] = table[static_cast<std::size_t>(i % kTableValues)];
  }
  return workload;
}

Result<std::int64_t> Workload::run(const Executable& executable) {
  const std::size_t bytes = executable.workspaceBytes();
  if (workspace_ == nullptr || workspace_->bytes() < bytes) workspace_ = std::make_unique<Memory>(bytes);
  if (workspace_->data() == nullptr) {
    workspace_.reset();
    return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                 "no memory for a workspace of " + std::to_string(bytes) + " bytes"};
  }
  const Tensors tensors{tensors_[0]->floats(), tensors_[1]->floats(), tensors_[2]->floats(),
                        tensors_[3]->floats(), tensors_[4]->floats(), tensors_[5]->floats()};
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  CUBEJIT_TRY(done, executable.run(tensors, workspace_->data(), bytes));
  static_cast<void>(done);
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
  return std::max<std::int64_t>(1, ns);
}

}  // namespace cubejit
