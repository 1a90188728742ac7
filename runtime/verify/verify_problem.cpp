// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides verdicts.
#include "runtime/verify/verify_problem.h"
#include "runtime/host/aligned_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>

#include "cubejit/index_map.h"
#include "runtime/chip/prove_elision.h"
#include "runtime/pipeline/compile.h"
#include "runtime/verify/format_tensor.h"
#include "runtime/verify/guarded_buffer.h"
#include "runtime/verify/random_problem.h"
#include "runtime/verify/reads_back.h"
#include "runtime/verify/reference_conv.h"
#include "runtime/verify/sampled_pass.h"

namespace cubejit {
namespace {

using Verdict = VerifyOutcome::Verdict;

Error noMemory(const char* what, std::size_t bytes) {
  return Error{ErrorCode::kLimitExceeded, Stage::kRun,
               std::string("no memory for ") + what + " of " + std::to_string(bytes) + " bytes"};
}

// One pass: what is known of its values, and what the run gave, both in plain order.
struct ComparedResult {
  TensorId tensor;
  DType type;
  const std::vector<SampledElement>& want;
  DecodedTensor got;
};

std::vector<SampledElement> everyElement(const std::vector<double>& values, const std::vector<double>& bounds) {
  std::vector<SampledElement> all(values.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {i, values[i], bounds[i]};
  return all;
}

double summandsOf(const Problem& p) {
  const double taps = static_cast<double>(p.kernel.volume());
  const double pixels = static_cast<double>(p.batch) * static_cast<double>(std::max(p.out.volume(), p.in.volume()));
  return std::max({taps * static_cast<double>(std::max(p.cout, p.cin)) / static_cast<double>(p.groups), pixels, 1.0});
}

// Half a unit in the last place of a result of this type, relative to its value; f32 rounding is part of the sum's own bound.
double resultUnit(DType type) { return type == DType::kBf16 ? 0x1p-8 : type == DType::kF16 ? 0x1p-11 : 0; }

// Sums of other products than the definition's err by what is near, not by their own summands: judged by norms. The first is
// what benchdnn allows f32 Winograd; the second keeps single elements from hiding in it.
constexpr double kRelaxedNorm = 2e-5, kRelaxedElement = 2e-4;
// The relative error that rounding both operands to bf16 gives a product at most.
constexpr double kRoundedProduct = 0x1.01p-7;

double largestOf(const ComparedResult& side) {
  double largest = 0;
  for (const SampledElement& want : side.want) largest = std::max(largest, std::fabs(want.value));
  return largest;
}

// First element that differs more than it may, or that nobody wrote; empty if there is none. Operands may have been rounded by math bf16.
std::string compare(const ComparedResult& side, bool rounds, double summands, MathMode math) {
  const char* name = toString(side.tensor);
  const std::vector<float>& got = side.got.plain;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]))
      return std::string(name) + ": element [" + std::to_string(i) + "] is NaN or was not written";
  }
  if (side.got.dirtyPadding >= 0)
    return std::string(name) + ": padding at element " + std::to_string(side.got.dirtyPadding) +
           " of memory is not zero";
  std::size_t wrong = 0;
  const SampledElement* first = nullptr;
  const bool roundsOperands = math == MathMode::kBf16;
  const double relaxed = roundsOperands ? kRelaxedElement * largestOf(side) : 0;
  rounds |= roundsOperands;
  for (const SampledElement& want : side.want) {
    // An exact sum is rounded once.
    const double wanted = rounds ? want.value : roundedTo(side.type, static_cast<float>(want.value));
    const double products = summands * std::ldexp(1.0, -24) + (roundsOperands ? kRoundedProduct : 0);
    const double allowed = rounds ? products * want.bound + relaxed + resultUnit(side.type) * std::fabs(want.value) +
                                        1e-7 * (side.type == DType::kF16 ? 1 : 0) + 1e-30
                                  : 0.0;
    const double is = got[want.index];
    if (is == wanted || std::fabs(is - wanted) <= allowed) continue;
    if (wrong++ == 0) first = &want;
  }
  if (wrong == 0) return {};
  return std::string(name) + ": " + std::to_string(wrong) + " of " + std::to_string(side.want.size()) +
         " elements differ, first [" + std::to_string(first->index) + "] (plain order) got " +
         std::to_string(got[first->index]) + " want " + std::to_string(first->value);
}

// How far what was computed is from what it should be, relative to its result: L2 norm, and largest element.
struct RelativeError {
  double norm = 0, element = 0;
};

RelativeError distanceOf(const ComparedResult& side) {
  double error = 0, norm = 0, worst = 0;
  for (const SampledElement& want : side.want) {
    const double difference = side.got.plain[want.index] - want.value;
    error += difference * difference;
    norm += want.value * want.value;
    worst = std::max(worst, std::isnan(difference) ? HUGE_VAL : std::fabs(difference));
  }
  if (worst == 0) return {};
  return {std::sqrt(error / std::max(norm, 1e-300)), worst / std::max(largestOf(side), 1e-300)};
}

std::string compareNorms(const ComparedResult& side, const RelativeError& distance) {
  const double unit = resultUnit(side.type);
  if (distance.norm <= kRelaxedNorm + unit && distance.element <= kRelaxedElement + unit) return {};
  return std::string(toString(side.tensor)) + ": the error's L2 norm is " + std::to_string(distance.norm) +
         " of the result's, its largest element " + std::to_string(distance.element) +
         " of the largest; relaxed math may err by 0.00002 and 0.0002";
}

constexpr std::int64_t kProvenContracts = 24;

// dy of the convolution's sums, from that of y: the definition of slopes. Rounded as what the pass reads is: HF32 is of factors.
std::vector<float> sloped(const Problem& p, Pass pass, const std::vector<float>& y, std::vector<float> dy) {
  const DType stored = formatOf(p, TensorId::kDy).dtype;
  const DType type = pass == Pass::kDb && isHf32(stored) ? DType::kF32 : stored;
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const float alpha = p.postOps.alpha;
    switch (p.postOps.activation) {
      case Activation::kNone: break;
      case Activation::kRelu: dy[i] = y[i] <= 0 ? 0 : dy[i]; break;
      case Activation::kLeakyRelu: dy[i] = y[i] > 0 ? dy[i] : roundedTo(type, dy[i] * alpha); break;
      case Activation::kClip: dy[i] = y[i] <= alpha || y[i] >= p.postOps.beta ? 0 : dy[i]; break;
    }
  }
  return dy;
}

// What y is of its exact sums: the definition of post-ops, in f32.
void applyPostOps(const Problem& p, const std::vector<float>& b, const std::vector<float>& z,
                  std::vector<SampledElement>& y) {
  const auto channels = static_cast<std::size_t>(p.cout), pixels = static_cast<std::size_t>(p.out.volume());
  for (SampledElement& e : y) {
    const float bias = p.postOps.bias ? b[e.index / pixels % channels] : 0, addend = p.postOps.add ? z[e.index] : 0;
    const double sum = e.value + static_cast<double>(bias) + static_cast<double>(addend);
    e.bound += std::fabs(static_cast<double>(bias)) + std::fabs(static_cast<double>(addend));
    const auto alpha = static_cast<double>(p.postOps.alpha);
    switch (p.postOps.activation) {
      case Activation::kNone: e.value = sum; break;
      case Activation::kRelu: e.value = std::max(sum, 0.0); break;
      case Activation::kLeakyRelu:
        e.value = sum > 0 ? sum : static_cast<double>(static_cast<float>(sum) * p.postOps.alpha);
        e.bound *= std::max(1.0, std::fabs(alpha));
        break;
      case Activation::kClip: e.value = std::clamp(sum, alpha, static_cast<double>(p.postOps.beta)); break;
    }
  }
}

// What the system refuses ends a verification as a vector's would.
std::unique_ptr<GuardedBuffer> guardedOrThrow(std::size_t bytes) {
  auto buffer = std::make_unique<GuardedBuffer>(bytes);
  if (bytes > 0 && buffer->data() == nullptr) throw std::bad_alloc();
  return buffer;
}

// A cube has one width of hf32, whichever is asked for: what it reads of operands is what the reference does.
VerifyRequest asTheCubeReads(VerifyRequest request, const Machine& machine) {
  Problem& p = request.problem;
  request.readsPadding = machine.isEmulated();
  for (const TensorId t : {TensorId::kDy, TensorId::kX, TensorId::kW}) {
    TensorFormat format = formatOf(p, t);
    const MatrixProduct* const step =
        machine.isEmulated() && isHf32(format.dtype) ? machine.npu.cube.product(format.dtype) : nullptr;
    if (step == nullptr) continue;
    format.dtype = step->operand;
    p.formats[static_cast<std::size_t>(t)] = format;
  }
  return request;
}

}  // namespace

VerifyOutcome verifyProblem(Session& session, const VerifyRequest& request) {
  const Problem& p = request.problem;
  const bool exact = !request.reals && p.math == MathMode::kStrict && request.sampleAbove <= 0;
  if (readSlope(p, request.passes) && request.passes.y && !exact) {
    // The slope at a sum near zero is that of the sum that was made: gradients are verified for a given y.
    VerifyRequest forward = request, backward = request;
    forward.passes = maskOf(Pass::kY);
    backward.passes.y = false;
    VerifyOutcome first = verifyProblem(session, forward);
    return first.verdict == Verdict::kPassed ? verifyProblem(session, backward) : first;
  }
  const std::int64_t total = xElements(p) + yElements(p) + wElements(p);
  if (total > request.mostElements) {
    return {Verdict::kSkipped, "tensors of " + std::to_string(total) + " elements are more than the " +
                                   std::to_string(request.mostElements) + " that are verified"};
  }
  Result<std::shared_ptr<const Executable>> compiled =
      request.plans.empty() ? session.compile(p, request.passes, request.weights)
                            : session.compile(CompileRequest{p, request.passes, request.plans, request.weights});
  if (!compiled.ok()) {
    // An algorithm that was asked for need not take every problem, nor a chip.
    const bool chosen =
        !session.options().algorithm.empty() || (session.machine().isEmulated() && request.plans.empty());
    const bool unsupported = compiled.error().code == ErrorCode::kUnsupported ||
                             (compiled.error().code == ErrorCode::kNoFeasiblePlan && chosen);
    if (unsupported) return {Verdict::kSkipped, compiled.error().message};
    VerifyOutcome refusal{Verdict::kFailed, compiled.error().message};
    refusal.refused = compiled.error().code;
    return refusal;
  }
  const Executable& executable = **compiled;
  for (const auto& part : executable.state().parts) {  // what passes left out is proven first
    const auto proven = proveElision(*part, session.machine(), session.options(), kProvenContracts);
    if (!proven.ok()) return {Verdict::kFailed, proven.error().message};
  }
  for (const CompiledPass* program : executable.state().programs()) {
    const Status read = readsBack(*program);
    if (!read.ok()) return {Verdict::kFailed, read.error().message};
  }
  AlignedMemory packed;  // once for all runs, which then do not see w
  const std::size_t packedBytes =
      request.weights == WeightsUse::kKept && request.passes.reads(TensorId::kW) ? executable.packedWeightsBytes() : 0;
  return verifyRuns(asTheCubeReads(request, session.machine()), [&](Tensors tensors, int threads) -> Status {
    if (packedBytes > 0 && packed == nullptr) {
      packed = alignedMemory(packedBytes);
      if (packed == nullptr) return noMemory("packed weights", packedBytes);
      std::memset(packed.get(), 0xff, packedBytes);
      CUBEJIT_RETURN_IF_ERROR(executable.packWeights(tensors.w, packed.get(), packedBytes, request.threads.back()));
    }
    if (packedBytes > 0) {
      tensors.w = nullptr;
      tensors.packedW = packed.get();
    }
    const std::size_t bytes = executable.workspaceBytes(threads);
    const AlignedMemory workspace = alignedMemory(bytes);
    if (workspace == nullptr) return noMemory("a workspace", bytes);
    std::memset(workspace.get(), 0xff, bytes);  // NaN as well
    return executable.run(tensors, workspace.get(), bytes, threads);
  });
}

VerifyOutcome verifyOnNpu(const Machine& chip, Options options, const VerifyRequest& request, bool elideCopies) {
  options.machine = chip;
  options.elideCopies = elideCopies;
  Session session(std::move(options));
  return verifyProblem(session, request);
}

VerifyOutcome verifyRuns(const VerifyRequest& request, const PassRun& runPasses) {
  const Problem& p = request.problem;
  std::mt19937_64 random(request.seed);
  const bool leaky = p.postOps.activation == Activation::kLeakyRelu;
  // Slopes that are quarters leave quarters of whole numbers; sums of what others leave are rounded.
  const double quarters = leaky ? 4 * std::fabs(static_cast<double>(p.postOps.alpha)) : 0;
  const bool wholeQuarters = quarters == std::floor(quarters);
  const double summands = summandsOf(p) * (leaky ? std::max(4.0, quarters) : 1);
  const auto data = [&](std::int64_t count) {
    return request.reals ? randomReals(random, count) : randomIntegers(random, count, summands);
  };
  const Problem plain = plainProblem(p);
  // Operands are rounded first, so that the reference knows what the kernels see. There is nothing of those that no pass reads.
  const auto operand = [&](TensorId t) -> std::vector<float> {
    if (!passesRead(p, request.passes, t)) return {};
    std::vector<float> values = data(plainElements(p, t));
    for (float& v : values) v = roundedTo(formatOf(p, t).dtype, v);
    if (formatOf(p, t).strided()) {  // elements may share memory: what was written last is what all of them are
      std::vector<char> memory(static_cast<std::size_t>(formatBytes(p, t)));
      encodeTensor(p, t, values, memory.data());
      values = decodeTensor(p, t, memory.data()).plain;
    }
    return values;
  };
  std::vector<float> dy = operand(TensorId::kDy), x = operand(TensorId::kX), w = operand(TensorId::kW);
  std::vector<float> b = operand(TensorId::kB), z = operand(TensorId::kZ);
  std::vector<float> y, multiplied, added;  // the last two: dy as products, and db, read it
  const bool slopes = readSlope(p, request.passes);
  if (slopes) {
    if (request.passes.y) {  // what the call itself gives
      std::vector<SampledElement> all;
      const ReferenceResults r = referenceResults(plain, maskOf(Pass::kY), dy, x, w);
      all = everyElement(r.y, r.yBound);
      applyPostOps(plain, b, z, all);
      for (const SampledElement& e : all)
        y.push_back(roundedTo(formatOf(p, TensorId::kY).dtype, static_cast<float>(e.value)));
    } else {
      y = operand(TensorId::kY);
    }
    multiplied = sloped(p, Pass::kDw, y, dy);
    if (request.passes.db) added = sloped(p, Pass::kDb, y, dy);
  }
  const auto seenBy = [&](Pass pass) -> const std::vector<float>& {
    return !slopes ? dy : pass == Pass::kDb ? added : multiplied;
  };
  constexpr std::size_t kCount = 4;
  // As `want` and the results in memory are numbered.
  constexpr Pass kNumbered[kCount] = {Pass::kDx, Pass::kDw, Pass::kDb, Pass::kY};
  std::vector<SampledElement> want[kCount];
  double work = insideMultiplyAdds(p);  // the reference also has two doubles for each element of a result
  for (const Pass pass : kNumbered) {
    if (request.passes.has(pass)) work = std::max(work, static_cast<double>(plainElements(p, resultOf(pass))));
  }
  if (request.sampleAbove > 0 && work > request.sampleAbove) {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (!request.passes.has(kNumbered[i])) continue;
      want[i] = sampledPass(plain, kNumbered[i], request.sampleAbove, request.seed, seenBy(kNumbered[i]), x, w);
    }
  } else {
    PassMask products = request.passes, sums;
    std::swap(products.db, sums.db);
    const ReferenceResults r = referenceResults(plain, products, seenBy(Pass::kDw), x, w),
                           s = referenceResults(plain, sums, seenBy(Pass::kDb), x, w);
    want[0] = everyElement(r.dx, r.dxBound);
    want[1] = everyElement(r.dw, r.dwBound);
    want[2] = everyElement(s.db, s.dbBound);
    want[3] = everyElement(r.y, r.yBound);
  }

  applyPostOps(plain, b, z, want[3]);

  VerifyOutcome passed;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!request.passes.has(kNumbered[i])) continue;
    passed.elements += plainElements(p, resultOf(kNumbered[i]));
    passed.compared += static_cast<std::int64_t>(want[i].size());
  }
  // Each is given up as soon as kernels have theirs: tensors of 2 GB are verified, too. What nobody may use is NaN.
  const auto encoded = [&](TensorId t, std::vector<float>& values) {
    const auto bytes = static_cast<std::size_t>(formatBytes(p, t));
    auto buffer = guardedOrThrow(bytes);
    if (bytes > 0 && !values.empty() && passesRead(p, request.passes, t))
      encodeTensor(p, t, values, reinterpret_cast<char*>(buffer->data()), unusedIn(p, t, request.readsPadding));
    else if (bytes > 0)
      std::memset(buffer->data(), kNan, bytes);
    values = {};
    if (!buffer->seal()) throw std::bad_alloc();
    return buffer;
  };
  const auto gdy = encoded(TensorId::kDy, dy), gx = encoded(TensorId::kX, x), gw = encoded(TensorId::kW, w);
  const auto gy = !slopes || request.passes.y ? nullptr : encoded(TensorId::kY, y);
  const auto gb = b.empty() ? nullptr : encoded(TensorId::kB, b), gz = z.empty() ? nullptr : encoded(TensorId::kZ, z);
  std::vector<char> before[kCount];
  for (std::size_t run = 0; run < request.threads.size(); ++run) {
    // Results start as NaN of every type: an element nobody writes is found.
    std::unique_ptr<GuardedBuffer> results[kCount];
    std::size_t bytesOf[kCount];
    for (std::size_t i = 0; i < kCount; ++i) {
      bytesOf[i] =
          request.passes.has(kNumbered[i]) ? static_cast<std::size_t>(formatBytes(p, resultOf(kNumbered[i]))) : 0;
      results[i] = guardedOrThrow(bytesOf[i]);
      if (bytesOf[i] > 0) std::memset(results[i]->data(), kNan, bytesOf[i]);
    }
    const Tensors tensors{gdy->data(),
                          gx->data(),
                          gw->data(),
                          results[0]->data(),
                          results[1]->data(),
                          results[2]->data(),
                          nullptr,
                          gy == nullptr ? results[3]->data() : gy->data(),
                          gb == nullptr ? nullptr : gb->data(),
                          gz == nullptr ? nullptr : gz->data()};
    const int threads = request.threads[run];
    const Status status = runPasses(tensors, threads);
    if (!status.ok()) {
      VerifyOutcome refusal{Verdict::kFailed, status.error().message};
      refusal.refused = status.error().code;
      return refusal;
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      if (bytesOf[i] == 0) continue;
      const auto* memory = reinterpret_cast<const char*>(results[i]->data());
      if (!results[i]->untouchedBefore())
        return {Verdict::kFailed,
                std::string(toString(resultOf(kNumbered[i]))) + ": bytes before its memory were written"};
      const ComparedResult side{resultOf(kNumbered[i]), formatOf(p, resultOf(kNumbered[i])).dtype, want[i],
                                decodeTensor(p, resultOf(kNumbered[i]), memory)};
      const MathMode math = kNumbered[i] == Pass::kDb ? MathMode::kStrict : p.math;
      const RelativeError distance = distanceOf(side);
      passed.relativeError = std::max(passed.relativeError, distance.norm);
      const std::string difference =
          math == MathMode::kRelaxed && side.got.dirtyPadding < 0
              ? compareNorms(side, distance)
              : compare(side, request.reals || (kNumbered[i] != Pass::kY && !wholeQuarters), summands, math);
      if (!difference.empty()) return {Verdict::kFailed, difference + " (" + std::to_string(threads) + " threads)"};
      if (run > 0 && std::memcmp(memory, before[i].data(), bytesOf[i]) != 0) {
        return {Verdict::kFailed, std::string(toString(resultOf(kNumbered[i]))) + " differs in bits between " +
                                      std::to_string(request.threads[run - 1]) + " and " + std::to_string(threads) +
                                      " threads"};
      }
      if (run + 1 < request.threads.size()) before[i].assign(memory, memory + bytesOf[i]);
    }
  }
  return passed;
}

}  // namespace cubejit
