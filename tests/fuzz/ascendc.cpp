// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks of a kernel that calls an input gradient's class in any order, with any arguments and tilings: it is told what it does wrong, or what
// it wrote is the gradient, and memory beside its tensors is not touched. An input is the tiling's changes and the calls.
#include "tests/support/ascend_dx_kernel.h"

#include "cubejit_ascendc/tiling_request.h"
#include "tests/fuzz/target.h"
#include "tests/support/fenced_memory.h"

using namespace cubejit;

namespace {

constexpr std::uint64_t kOdd[] = {0,  1,  2,  3,   7,   8,     15,         16,          17,
                                  32, 64, 80, 128, 256, 65536, 2147483647, 4294967295U, UINT64_MAX};

// One more value for a field or an argument; `usual` most of the time.
class Draw {
 public:
  explicit Draw(fuzz::Bytes& bytes) : bytes_(bytes) {}
  template <class T>
  T other(T usual) {
    if (bytes_.below(8) != 0) return usual;
    const auto odd = static_cast<T>(kOdd[static_cast<std::size_t>(bytes_.below(std::size(kOdd)))]);
    spoiled_ = spoiled_ || odd != usual;
    return odd;
  }
  bool spoiled() const { return spoiled_; }

 private:
  fuzz::Bytes& bytes_;
  bool spoiled_ = false;
};

void callSomething(InputGradient<half>& g, SmallInputGradient& s, const AscendC::GlobalTensor<half>& out,
                   fuzz::Bytes& bytes, Draw& draw) {
  AscendC::GlobalTensor<half> w, dy;
  w.SetGlobalBuffer(s.weight.data(), s.weight.size());
  dy.SetGlobalBuffer(s.gradOutput.data(), s.gradOutput.size());
  switch (bytes.below(9)) {
    case 0: return g.Init(&s.t());
    case 1: return g.SetWeight(w[draw.other<std::uint64_t>(0)]);
    case 2: return g.SetGradOutput(dy[draw.other<std::uint64_t>(0)]);
    case 3:
      return g.SetSingleShape(draw.other<std::uint64_t>(SmallInputGradient::kPixels), draw.other<std::uint64_t>(s.k()),
                              draw.other<std::uint32_t>(32));
    case 4: return g.SetStartPosition(draw.other<std::uint32_t>(0), draw.other<std::int32_t>(-1));
    case 5: g.ctx.isFirstIter_ = true; return;
    case 6: bytes.below(8) == 0 ? g.End() : static_cast<void>(0); return;
    case 7: return g.GetTensorC(out[draw.other<std::uint64_t>(0)]);
    default: g.Iterate(); return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  Draw draw(bytes);
  SmallInputGradient s;
  const std::size_t count = s.gradInput.size();
  const FencedMemory memory(static_cast<std::int64_t>(count * sizeof(half)), Fence::kBehind);
  auto* dx = reinterpret_cast<half*>(memory.data());
  std::copy(s.gradInput.begin(), s.gradInput.end(), dx);
  if (bytes.below(2) != 0)
    ascendc::describeInputTiling(s.t(), [&](const char*, auto& field) { field = draw.other(field); });
  ascendc::LaunchOptions options;
  options.blocks = 1;
  const auto report = ascendc::launch(options, [&] {
    InputGradient<half> g;
    AscendC::GlobalTensor<half> out;
    out.SetGlobalBuffer(dx, count);
    if (bytes.below(4) != 0) s.prepare(g);
    for (int call = 0; call < 24 && !bytes.empty(); ++call) callSomething(g, s, out, bytes, draw);
    if (bytes.below(2) == 0) g.End();
  });
  fuzz::hold(report.ok() || !report.error().message.empty(), "a fault is told");
  if (draw.spoiled()) return 0;  // another shape is another gradient
  static const auto expected = s.tensors.reference();
  const Problem result = s.tensors.with(TensorId::kDx, DType::kF16, Layout::kNdc1hwc0, 16);
  forEachElement(result, TensorId::kDx, [&](std::size_t plain, std::size_t at) {
    const auto is = static_cast<float>(dx[at]);
    fuzz::hold(is == -77.0F || is == static_cast<float>(expected.dx[plain]), "what is written is the gradient");
  });
  return 0;
}
