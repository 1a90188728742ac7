// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a test of kernels in the kernel language reads and expects: random inputs, rounded to their types and laid out by their strides,
// the same for the evaluation and for programs, and how far outputs are from it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/lang/parse.h"
#include "codegen/tile/caller_buffers.h"
#include "tests/support/evaluate_kernel.h"

namespace cubejit {

struct KernelFile {
  std::string name, text;
};
/// Those of kernels/, in the order of their names.
inline std::vector<KernelFile> kernelFiles() {
  std::vector<KernelFile> files;
  for (const auto& file : std::filesystem::directory_iterator(std::string(CUBEJIT_SOURCE_DIR) + "/kernels")) {
    if (file.path().extension() != ".tile") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    files.push_back({file.path().filename().string(), text.str()});
  }
  std::sort(files.begin(), files.end(), [](const KernelFile& x, const KernelFile& y) { return x.name < y.name; });
  return files;
}

/// One of each parameter's values; of sizes, which have none, odd ones. Those of several tries that the text's `require` lines accept.
inline lang::Settings otherSettings(const std::string& text, const lang::Source& kernel, std::mt19937& random) {
  constexpr std::int64_t kSizes[] = {3, 7, 17, 33, 40};
  lang::Settings settings;
  for (int tries = 0; tries < 100; ++tries) {
    for (const lang::Parameter& p : kernel.parameters)
      settings[p.name] = p.textOf(p.values.empty() ? kSizes[random() % 5] : p.values[random() % p.values.size()]);
    if (lang::parse(text, settings).ok()) break;
  }
  return settings;
}

class KernelOperands {
 public:
  KernelOperands(const lang::Source& k, const TileProgram& program, unsigned seed) : k_(k), expected_(k) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> real(-1, 1);
    for (const Buffer& buffer : program.buffers) {
      if (!buffer.isCallers()) continue;
      memory_.emplace_back(static_cast<std::size_t>(buffer.bytes), '\x7f');
      const lang::Tensor& t = tensor(buffer.name);
      names_.push_back(buffer.name);
      if (buffer.use != Buffer::Use::kInput) continue;
      std::vector<double>& values = expected_.of(buffer.name);
      eachElement(t, [&](std::size_t dense, std::int64_t at) {
        writeElement(t.element, memory_.back().data() + at * elementBytes(t.element),
                     bitsOf(real(random) * (isInteger(t.element) ? 128 : 1)));
        values[dense] = static_cast<double>(
            floatOf(readElement(t.element, memory_.back().data() + at * elementBytes(t.element), 0)));
      });
      // Strides may lay several elements on one word: the last one written is what all have.
      eachElement(t, [&](std::size_t dense, std::int64_t at) {
        values[dense] = static_cast<double>(
            floatOf(readElement(t.element, memory_.back().data() + at * elementBytes(t.element), 0)));
      });
    }
    expected_.run();
  }

  CallerBuffers addresses() {
    CallerBuffers all;
    for (auto& bytes : memory_) all.push_back(bytes.data());
    return all;
  }
  const std::vector<std::vector<char>>& memory() const { return memory_; }

  /// The greatest distance of an output from what is expected, in parts of the greatest expected magnitude; a NaN is infinitely far.
  double distance() {
    double farthest = 0;
    for (std::size_t b = 0; b < names_.size(); ++b) {
      const lang::Tensor& t = tensor(names_[b]);
      if (t.use != Buffer::Use::kOutput) continue;
      const std::vector<double>& want = expected_.of(names_[b]);
      double magnitude = 1e-6;
      for (const double x : want) {
        if (std::isfinite(x)) magnitude = std::max(magnitude, std::abs(x));
      }
      const double unit = t.element == Element::kF32 || isInteger(t.element) ? 1
                          : t.element == Element::kF16                       ? 0x1p-12 / 0x1p-20
                                                                             : 0x1p-9 / 0x1p-20;
      eachElement(t, [&](std::size_t dense, std::int64_t at) {
        const double got =
            static_cast<double>(floatOf(readElement(t.element, memory_[b].data() + at * elementBytes(t.element), 0)));
        if (got == want[dense]) return;  // infinite ones, too
        const double limited = t.element == Element::kI8 ? std::clamp(want[dense], -128.0, 127.0) : want[dense];
        // The nearest integer, where it is one; a number in the middle may have been on its other side.
        const double rounding = isInteger(t.element) ? 0.5 : 0;
        const double far = std::max(0.0, std::abs(got - limited) - rounding) / magnitude / unit;
        farthest = std::max(farthest, std::isnan(far) ? INFINITY : far);
      });
    }
    return farthest;
  }

 private:
  const lang::Tensor& tensor(const std::string& name) const {
    return *std::find_if(k_.tensors.begin(), k_.tensors.end(), [&](const auto& t) { return t.name == name; });
  }
  static void eachElement(const lang::Tensor& t, const std::function<void(std::size_t, std::int64_t)>& visit) {
    if (!t.hasElements()) return;
    std::vector<std::int64_t> at(t.dimensions.size());
    for (std::size_t dense = 0;; ++dense) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * t.dimensions[d].stride;
      visit(dense, place);
      std::size_t d = at.size();
      while (d > 0 && ++at[d - 1] == t.dimensions[d - 1].extent) at[--d] = 0;
      if (d == 0) return;
    }
  }

  const lang::Source& k_;
  EvaluatedKernel expected_;
  std::vector<std::vector<char>> memory_;
  std::vector<std::string> names_;
};

}  // namespace cubejit
