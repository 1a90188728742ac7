// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how PyTorch's dispatcher comes to cubejit without Python: kernels for the CPU of aten::_convolution and aten::convolution_backward, which
// go by a table of what was decided and need no GIL. Leaves calls that the table does not know to whoever is linked with them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/OptionalArrayRef.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "python/torch_kernels/key.h"
#include "python/torch_kernels/table.h"

namespace cubejit::torch_kernels {

using at::IntArrayRef;
using at::Tensor;
using Bias = std::optional<Tensor>;
using Gradients = std::tuple<Tensor, Tensor, Tensor>;
using Mask = std::array<bool, 3>;

enum Choice : std::uint8_t { kMeasure, kOurs, kReproducible };
enum Math : std::uint8_t { kPermitted, kStrict, kRelaxed, kBf16 };

/// What the user said, and whether no call is to go by the table.
struct Rules {
  bool enabled = false, seen = false;
  Choice choice = kMeasure;
  Math math = kPermitted;
};
/// From now on.
void obey(const Rules& rules);

/// As choosing.how(): one number for rule and math, and that of a call with operands of this type that is made now.
constexpr int numberOf(Choice choice, Math math) { return choice << 2 | math; }
constexpr Choice choiceOf(int how) { return static_cast<Choice>(how >> 2); }
constexpr Math mathOf(int how) { return static_cast<Math>(how & 3); }
int howNow(at::ScalarType type);

Table& table();

/// Adds a tensor. False: its memory does not hold it as strides say.
bool add(Key& key, const Tensor& t);
/// Adds all that is no tensor of layers.key_of().
void add(Key& key, int how, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
         IntArrayRef outputPadding, std::int64_t groups);

/// New memory of the result of a slot of Lies, undefined if it is none.
Tensor made(const Decision& decision, std::size_t slot, const Tensor& like);
bool run(const Decision& decision, const python::Addresses& addresses);
/// By cubejit, which is what was decided. Nothing: the run failed.
std::optional<Tensor> forwardBy(const Decision& decision, const Tensor& x, const Tensor& w, const Bias& bias);
std::optional<Gradients> backwardBy(const Decision& decision, const Tensor& dy, const Tensor& x, const Tensor& w);

/// A call that the table does not know, or whose run failed. Its key is null where nothing can be published of it.
struct Asked {
  const Key* key;
  int how;
};
/// Compute such calls, with the operators' arguments. Whoever is linked with the kernels defines them.
Tensor decideForward(const Asked& asked, const Tensor& x, const Tensor& w, const Bias& bias, IntArrayRef stride,
                     IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef outputPadding,
                     std::int64_t groups, bool benchmark, bool deterministic, bool cudnn, bool tf32);
Gradients decideBackward(const Asked& asked, const Tensor& dy, const Tensor& x, const Tensor& w,
                         at::OptionalIntArrayRef biasShape, IntArrayRef stride, IntArrayRef padding,
                         IntArrayRef dilation, bool transposed, IntArrayRef outputPadding, std::int64_t groups,
                         Mask mask);

/// Puts the kernels under the dispatcher, for the life of the process. Throws, and leaves nothing, where PyTorch refuses one.
void registerKernels();

}  // namespace cubejit::torch_kernels
