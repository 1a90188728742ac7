// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a layer is: a convolution with bias, its gradients, and how its parameters follow them. All sums are cubejit's.
// Leaves the order of layers to main.cpp.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"

/// Memory for a run, aligned as generated code wants it.
struct Workspace {
  std::size_t bytes = 0;
  std::unique_ptr<void, void (*)(void*)> memory{nullptr, std::free};
  void reserve(std::size_t needed);
};

class Layer {
 public:
  /// A square image of `size` with `cin` channels, by `cout` filters of `kernel`; channels last.
  Layer(std::int64_t batch, std::int64_t cin, std::int64_t cout, std::int64_t size, std::int64_t kernel,
        std::int64_t stride, std::int64_t padding, std::mt19937& random);

  /// Plans and generates code. The first layer needs no data gradient.
  cubejit::Status compile(cubejit::Session& session, bool first);
  std::int64_t outputSize() const { return problem_.out.h; }
  std::size_t outputs() const { return static_cast<std::size_t>(cubejit::yElements(problem_)); }

  /// y = x * w + b, and max(y, 0) if `rectify`.
  cubejit::Status forward(const std::vector<float>& x, bool rectify, std::vector<float>& y);
  /// Takes dy apart into gradients of the parameters and of x. `y` is what forward() gave: where it was cut off, dy is 0.
  cubejit::Status backward(const std::vector<float>& x, const std::vector<float>& y, bool rectified,
                           std::vector<float>& dy, std::vector<float>& dx);
  /// Momentum: velocity = momentum * velocity - rate * gradient; parameters += velocity.
  void step(float rate, float momentum);

 private:
  cubejit::Problem problem_;
  std::shared_ptr<const cubejit::Executable> forward_, backward_;
  std::vector<float> w_, b_, dw_, db_, wVelocity_, bVelocity_;
  Workspace workspace_;
};
