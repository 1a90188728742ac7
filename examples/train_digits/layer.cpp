// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a layer asks for its passes.
#include "layer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using cubejit::Problem;

void Workspace::reserve(std::size_t needed) {
  if (needed <= bytes) return;
  bytes = (needed + 63) / 64 * 64;
  memory.reset(std::aligned_alloc(64, bytes));
}

Layer::Layer(std::int64_t batch, std::int64_t cin, std::int64_t cout, std::int64_t size, std::int64_t kernel,
             std::int64_t stride, std::int64_t padding, std::mt19937& random) {
  Problem& p = problem_;
  p.rank = 2;
  p.batch = batch, p.cin = cin, p.cout = cout;
  p.in = {1, size, size}, p.kernel = {1, kernel, kernel}, p.stride = {1, stride, stride};
  p.padBefore = p.padAfter = {0, padding, padding};
  const std::int64_t out = (size + 2 * padding - kernel) / stride + 1;
  p.out = {1, out, out};
  const double fan = static_cast<double>(cin * kernel * kernel);
  std::normal_distribution<float> normal(0.0F, static_cast<float>(std::sqrt(2.0 / fan)));
  for (std::int64_t i = 0; i < cubejit::wElements(p); ++i) w_.push_back(normal(random));
  b_.assign(static_cast<std::size_t>(cout), 0.0F);
  dw_.assign(w_.size(), 0.0F), wVelocity_ = dw_;
  db_.assign(b_.size(), 0.0F), bVelocity_ = db_;
}

cubejit::Status Layer::compile(cubejit::Session& session, bool first) {
  const auto forward = session.compile(problem_, {/*dx=*/false, /*dw=*/false, /*db=*/false, /*y=*/true});
  if (!forward.ok()) return forward.error();
  const auto backward = session.compile(problem_, {!first, true, true});
  if (!backward.ok()) return backward.error();
  forward_ = *forward;
  backward_ = *backward;
  workspace_.reserve(std::max(forward_->workspaceBytes(), backward_->workspaceBytes()));
  return cubejit::Unit{};
}

cubejit::Status Layer::forward(const std::vector<float>& x, bool rectify, std::vector<float>& y) {
  y.resize(outputs());
  cubejit::Tensors tensors;
  tensors.x = x.data(), tensors.w = w_.data(), tensors.y = y.data();
  const auto done = forward_->run(tensors, workspace_.memory.get(), workspace_.bytes);
  if (!done.ok()) return done;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] += b_[i % b_.size()];
    if (rectify) y[i] = std::max(y[i], 0.0F);
  }
  return done;
}

cubejit::Status Layer::backward(const std::vector<float>& x, const std::vector<float>& y, bool rectified,
                                std::vector<float>& dy, std::vector<float>& dx) {
  if (rectified) {
    for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = y[i] > 0 ? dy[i] : 0;
  }
  dx.resize(x.size());
  const bool first = !backward_->passes().dx;
  return backward_->run({dy.data(), x.data(), w_.data(), first ? nullptr : dx.data(), dw_.data(), db_.data()},
                        workspace_.memory.get(), workspace_.bytes);
}

void Layer::step(float rate, float momentum) {
  const auto move = [&](std::vector<float>& values, std::vector<float>& velocity, const std::vector<float>& gradient) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      velocity[i] = momentum * velocity[i] - rate * gradient[i];
      values[i] += velocity[i];
    }
  };
  move(w_, wVelocity_, dw_);
  move(b_, bVelocity_, db_);
}
