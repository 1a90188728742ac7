// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what forward may do with its sums before they are stored, and how that is spelled. The words are those of oneDNN's post-ops.
#pragma once

#include <cstdint>
#include <string>

#include "cubejit/export.h"
#include "cubejit/result.h"

namespace cubejit {

/// An elementwise function of f32; NaN stays NaN. Its slope, which backward passes multiply dy by, is read off its result y: that of kRelu is
/// 0 where y <= 0, else 1, and 0 times anything is 0; kLeakyRelu: 1 where y > 0, else alpha (which must not be negative); kClip: 0 where
/// y <= alpha or y >= beta, else 1. So it is PyTorch's where y is NaN.
enum class Activation : std::uint8_t {
  kNone,
  kRelu,       ///< max(v, 0)
  kLeakyRelu,  ///< v > 0 ? v : alpha * v; NaN for -infinity and an alpha of 0, as in PyTorch
  kClip        ///< min(max(v, alpha), beta); ReLU6: alpha 0, beta 6
};
constexpr const char* toString(Activation a) {
  constexpr const char* kNames[] = {"", "relu", "leaky_relu", "clip"};
  return kNames[static_cast<std::size_t>(a)];
}

/// y = activation((sum + b[o]) + z), in f32, rounded to y's type once, as it is stored. Which sum a plan makes does not matter.
struct PostOps {
  bool bias = false;  ///< adds b, one value an output channel, of y's type
  bool add = false;   ///< adds z, a tensor of y's format (a residual; oneDNN: binary_add)
  Activation activation = Activation::kNone;
  float alpha = 0, beta = 0;  ///< of the activation; 0 where it has none
  bool any() const { return bias || add || activation != Activation::kNone; }
  friend bool operator==(const PostOps& x, const PostOps& y) {
    return x.bias == y.bias && x.add == y.add && x.activation == y.activation && x.alpha == y.alpha && x.beta == y.beta;
  }
  friend bool operator!=(const PostOps& x, const PostOps& y) { return !(x == y); }
};

/// "bias,add,leaky_relu:0.1": those there are, in the order they are done; empty if there are none. parsePostOps() reads it back.
CUBEJIT_API std::string toString(const PostOps& post);
/// kInvalidProblem names what is not known, given twice, no number, or in another order than it is done.
CUBEJIT_API Result<PostOps> parsePostOps(const std::string& text);

}  // namespace cubejit
