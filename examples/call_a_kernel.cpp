// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A generated kernel called by hand: dX of a 1x1 convolution, in f32 and channels last, where dx[pixel][i] is the sum over o of
// dy[pixel][o] * w[o][i]. The kernel that multiplies is given arrays of this program's own, and what it wrote is compared with
// plain loops. kernel_args.h is the calling convention; KernelView::call says with which list and where in the arrays.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/kernel_args.h"

namespace {

constexpr std::size_t kPixels = 8 * 8, kIn = 64, kOut = 32;

std::vector<float> someNumbers(std::size_t count, unsigned seed) {
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    seed = seed * 1664525U + 1013904223U;
    number = static_cast<float>(seed >> 24) / 128 - 1;
  }
  return numbers;
}

int fail(const std::string& why) { return std::fprintf(stderr, "%s\n", why.c_str()), 1; }

}  // namespace

int main() {
  cubejit::CompileRequest request;
  cubejit::Problem& problem = request.problem;
  problem.rank = 2;
  problem.cin = kIn;
  problem.cout = kOut;
  problem.in = problem.out = {1, 8, 8};
  request.passes = {/*dx=*/true, /*dw=*/false, /*db=*/false};

  auto options = cubejit::optionsFromEnvironment();
  if (!options.ok()) return fail(options.error().message);
  options->algorithm = "direct";
  cubejit::Session session(*options);

  // The kernel shall read and write tensors where they lie, and not panels in the workspace: the planner's own choice of blocks,
  // changed to say so.
  const auto planned = session.plan(problem, cubejit::Pass::kDx);
  if (!planned.ok()) return fail(planned.error().message);
  cubejit::DirectDataPlan plan = planned.value().plan.as<cubejit::DirectDataPlan>();
  plan.packB = cubejit::PackWeights::kNone;
  plan.packA = plan.bufferC = plan.streamingStore = false;
  request.plans = {plan};
  const auto compiled = session.compile(request);
  if (!compiled.ok()) return fail(compiled.error().message);

  std::vector<float> dy = someNumbers(kPixels * kOut, 1), w = someNumbers(kOut * kIn, 2);
  constexpr float kUntouched = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> dx(kPixels * kIn, kUntouched);

  // Where an operand lies. Only the tensors: none of them is in the workspace with this plan.
  const auto at = [&](const cubejit::KernelOperand& operand) -> char* {
    for (auto [name, data] : {std::pair{"dy", &dy}, std::pair{"w", &w}, std::pair{"dx", &dx}}) {
      if (operand.buffer == name && operand.bytes == static_cast<std::int64_t>(data->size() * sizeof(float)))
        return reinterpret_cast<char*>(data->data()) + operand.offset;
    }
    return nullptr;
  };

  std::size_t called = 0;
  const std::vector<cubejit::KernelView> kernels = (*compiled)->kernels();
  if (kernels.empty() || kernels.front().entry == nullptr)
    return std::printf("skipped: the backend %s interprets, there is no code to call\n", toString(options->backend)), 0;
  for (const cubejit::KernelView& kernel : kernels) {
    if (!kernel.multiplies || !kernel.call.has_value()) continue;
    const cubejit::KernelCall& call = *kernel.call;
    cubejit::KernelArgs args;
    args.a = at(call.a);
    args.b = at(call.b);
    args.c = at(call.c);
    args.list = call.list.data();
    args.repeat = call.repeat;
    args.aRepeat = call.aRepeat;
    args.bRepeat = call.bRepeat;
    args.cRepeat = call.cRepeat;
    args.accumulate = 0;  // the sum begins at zero, and 1x1 kernels have no second part
    if (args.a == nullptr || args.b == nullptr || args.c == nullptr)
      return fail(kernel.name + " has operands outside the tensors");
    reinterpret_cast<cubejit::KernelFunction>(const_cast<void*>(kernel.entry))(&args);
    ++called;
    std::printf("%s: %zu bytes of code, a = dy + %lld, b = w + %lld, c = dx + %lld, %lld times\n", kernel.name.c_str(),
                kernel.bytes.size(), static_cast<long long>(call.a.offset), static_cast<long long>(call.b.offset),
                static_cast<long long>(call.c.offset), static_cast<long long>(call.repeat));
  }
  if (called == 0) return fail("there is no kernel to call");

  std::size_t written = 0, wrong = 0;
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    for (std::size_t i = 0; i < kIn; ++i) {
      const float result = dx[pixel * kIn + i];
      if (std::isnan(result)) continue;  // beyond the blocks of these calls
      double sum = 0;
      for (std::size_t o = 0; o < kOut; ++o) sum += static_cast<double>(dy[pixel * kOut + o]) * w[o * kIn + i];
      ++written;
      if (!(std::abs(result - sum) < 1e-4)) ++wrong;
    }
  }
  std::printf("%zu kernels wrote %zu of %zu elements of dx, %zu of them wrong\n", called, written, dx.size(), wrong);
  return written > 0 && wrong == 0 ? 0 : 1;
}
