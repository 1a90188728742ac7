// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a small network learns to read handwritten digits: four convolutions, the last as wide as what is left of the image;
// a fifth of the images are never trained on and tell how good it is. Leaves convolutions to layer.cpp.
//
//   example_train_digits [FILE [EPOCHS]]    exit code 0 if more than 97 % of unseen digits are read rightly
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "digits.h"
#include "layer.h"

namespace {

constexpr std::int64_t kBatch = 32, kClasses = 10;
constexpr float kMomentum = 0.9F;

using Values = std::vector<float>;

class Network {
 public:
  explicit Network(std::mt19937& random) {
    layers_.emplace_back(kBatch, 1, 16, 8, 3, 1, 1, random);
    layers_.emplace_back(kBatch, 16, 32, 8, 3, 2, 1, random);
    layers_.emplace_back(kBatch, 32, 64, 4, 3, 2, 1, random);
    layers_.emplace_back(kBatch, 64, kClasses, 2, 2, 1, 0, random);
    values_.resize(layers_.size() + 1);
  }

  bool compile(cubejit::Session& session) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (!well(layers_[i].compile(session, i == 0))) return false;
    }
    return true;
  }

  /// Scores [batch][10] of the images in `input()`; null if a layer failed.
  const Values* scores() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (!well(layers_[i].forward(values_[i], i + 1 < layers_.size(), values_[i + 1]))) return nullptr;
    }
    return &values_.back();
  }
  Values& input() { return values_.front(); }

  /// One step down the gradient of the scores.
  bool learn(Values dy, float rate) {
    Values dx;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      if (!well(layers_[i].backward(values_[i], values_[i + 1], i + 1 < layers_.size(), dy, dx))) return false;
      layers_[i].step(rate, kMomentum);
      dy.swap(dx);
    }
    return true;
  }

 private:
  static bool well(const cubejit::Status& status) {
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return status.ok();
  }
  std::vector<Layer> layers_;
  std::vector<Values> values_;
};

// Images of a batch; the last batch of unseen ones is filled up with the first.
std::vector<std::size_t> batchOf(const std::vector<std::size_t>& of, std::size_t begin) {
  std::vector<std::size_t> batch;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kBatch); ++i) batch.push_back(of[(begin + i) % of.size()]);
  return batch;
}

void load(const Digits& digits, const std::vector<std::size_t>& batch, Values& input) {
  input.clear();
  for (const std::size_t image : batch) {
    const float* const pixels = digits.images.data() + image * Digits::kPixels;
    input.insert(input.end(), pixels, pixels + Digits::kPixels);
  }
}

// Moves every image by up to a pixel each way, so that no two epochs show the same ones.
void jitter(Values& input, std::mt19937& random) {
  constexpr int kSide = 8;
  Values moved(Digits::kPixels);
  for (std::size_t begin = 0; begin < input.size(); begin += Digits::kPixels) {
    const int down = static_cast<int>(random() % 3) - 1, right = static_cast<int>(random() % 3) - 1;
    for (int i = 0; i < kSide * kSide; ++i) {
      const int row = i / kSide - down, column = i % kSide - right;
      const bool inside = row >= 0 && row < kSide && column >= 0 && column < kSide;
      moved[static_cast<std::size_t>(i)] =
          inside ? input[begin + static_cast<std::size_t>(row * kSide + column)] : 0.0F;
    }
    std::copy(moved.begin(), moved.end(), input.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

// Mean cross entropy of a batch; `gradient` is that of the scores.
double lossOf(const Values& scores, const std::vector<std::size_t>& batch, const Digits& digits, Values& gradient) {
  double loss = 0;
  gradient.resize(scores.size());
  for (std::size_t b = 0; b < batch.size(); ++b) {
    const float* const s = scores.data() + b * kClasses;
    const float most = *std::max_element(s, s + kClasses);
    double sum = 0;
    for (int c = 0; c < kClasses; ++c) sum += std::exp(static_cast<double>(s[c] - most));
    const int label = digits.labels[batch[b]];
    loss += std::log(sum) - static_cast<double>(s[label] - most);
    for (int c = 0; c < kClasses; ++c) {
      const double share = std::exp(static_cast<double>(s[c] - most)) / sum;
      gradient[b * kClasses + static_cast<std::size_t>(c)] =
          static_cast<float>((share - (c == label ? 1 : 0)) / static_cast<double>(batch.size()));
    }
  }
  return loss / static_cast<double>(batch.size());
}

// Per cent read rightly; negative if something failed.
double accuracyOf(Network& network, const Digits& digits, const std::vector<std::size_t>& unseen) {
  std::size_t right = 0;
  for (std::size_t begin = 0; begin < unseen.size(); begin += static_cast<std::size_t>(kBatch)) {
    const std::vector<std::size_t> batch = batchOf(unseen, begin);
    load(digits, batch, network.input());
    const Values* const scores = network.scores();
    if (scores == nullptr) return -1;
    for (std::size_t b = 0; b < batch.size() && begin + b < unseen.size(); ++b) {
      const auto first = scores->begin() + static_cast<std::ptrdiff_t>(b * kClasses);
      right += std::max_element(first, first + kClasses) - first == digits.labels[batch[b]] ? 1 : 0;
    }
  }
  return 100.0 * static_cast<double>(right) / static_cast<double>(unseen.size());
}

}  // namespace

int main(int argc, char** argv) {
  const Digits digits = readDigits(argc > 1 ? argv[1] : kDigitsFile);
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 40;
  if (digits.count() < 100 || epochs < 1) return 2;
  std::mt19937 random(1);
  std::vector<std::size_t> all(digits.count());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::shuffle(all.begin(), all.end(), random);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 5);
  const std::vector<std::size_t> unseen(all.begin(), middle);
  std::vector<std::size_t> seen(middle, all.end());

  cubejit::Session session;
  Network network(random);
  if (!network.compile(session)) return 2;
  std::printf("%zu digits to learn from, %zu unseen; before: %.1f %%\n", seen.size(), unseen.size(),
              accuracyOf(network, digits, unseen));
  double accuracy = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const float rate = 0.04F * static_cast<float>(1 + std::cos(3.14159265 * (epoch - 1) / epochs)) / 2;
    double loss = 0;
    std::size_t batches = 0;
    Values gradient;
    std::shuffle(seen.begin(), seen.end(), random);
    for (std::size_t begin = 0; begin + static_cast<std::size_t>(kBatch) <= seen.size();
         begin += static_cast<std::size_t>(kBatch)) {
      const std::vector<std::size_t> batch = batchOf(seen, begin);
      load(digits, batch, network.input());
      jitter(network.input(), random);
      const Values* const scores = network.scores();
      if (scores == nullptr) return 2;
      loss += lossOf(*scores, batch, digits, gradient);
      if (!network.learn(gradient, rate)) return 2;
      ++batches;
    }
    accuracy = accuracyOf(network, digits, unseen);
    std::printf("epoch %2d: loss %.4f, %.1f %% of unseen digits\n", epoch, loss / static_cast<double>(batches),
                accuracy);
  }
  return accuracy > 97.0 ? 0 : 1;
}
