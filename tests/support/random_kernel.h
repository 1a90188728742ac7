// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a random kernel of the kernel language is: text, with loops of odd tiles, values of tiles and of the run, sums of products,
// reductions, of loops' tiles too, and expressions of elements and indices that are there; now and then an index has no numbers. Results stay
// small, so that they can be compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cubejit {

class RandomKernel {
 public:
  explicit RandomKernel(unsigned seed)
      : rng_(seed),
        times_(seed % 40 == 7 ? 11 : 1),
        only_(seed % 3 == 0   ? "bf16"
              : seed % 7 == 1 ? "i8"
                              : nullptr) {}

  std::string text() {
    out_ = "cubejit kernel 1\nkernel random\n";
    for (int i = 0; i < 3; ++i) {
      indices_.push_back(
          {std::string(1, static_cast<char>('i' + i)), extentBelow(i == 2 ? 36 : 6) * (i == 2 ? times_ : 1), true});
      out_ += "index " + indices_.back().name + " in " + std::to_string(indices_.back().extent) + "\n";
    }
    for (int t = 0; t < 3; ++t) declare("input", "x" + std::to_string(t), some());
    const std::string product = only_ != nullptr ? productOfMatrices() : "";
    // Loops over an index of their own; outputs go along it.
    const int loops = below(3);
    std::vector<std::size_t> along;
    for (int l = 0; l < loops; ++l) {
      along.push_back(indices_.size());
      indices_.push_back({"t" + std::to_string(l), extentBelow(12), false});
    }
    for (const std::size_t l : along) {
      declare("input", "z" + indices_[l].name, [&] {
        std::vector<std::size_t> dimensions = some();
        dimensions.insert(dimensions.begin() + below(static_cast<int>(dimensions.size()) + 1), l);
        return dimensions;
      }());
    }
    std::vector<std::size_t> outside;
    for (int s = below(3); s > 0; --s) let("", some());
    const bool parallel = below(2) == 0;
    serial_ = !parallel;
    std::string indent;
    std::vector<std::pair<std::string, std::vector<std::size_t>>> outputs;
    for (int o = 1 + below(2); o > 0; --o) {
      std::vector<std::size_t> dimensions = some();
      for (const std::size_t l : along)
        dimensions.insert(dimensions.begin() + below(static_cast<int>(dimensions.size()) + 1), l);
      outputs.emplace_back("y" + std::to_string(o), dimensions);
    }
    std::string body = std::exchange(out_, "");
    for (const auto& [name, dimensions] : outputs) head_ += line("output", name, dimensions);
    // The last loop's tile may have a loop in it that goes over that in smaller ones.
    const int within = along.empty() ? 0 : below(3);
    for (const std::size_t l : along) {
      const std::int64_t tile = (1 + below(6)) * (l == along.back() && within > 0 ? within : 1);
      body += indent + (parallel ? "parallel " : "loop ") + indices_[l].name + " in " +
              std::to_string(indices_[l].extent) + " by " + std::to_string(tile) + "\n";
      indent += "  ";
      indices_[l].here = true;
    }
    out_ = body;
    for (int s = below(3); s > 0; --s) {
      std::vector<std::size_t> dimensions = some();
      if (!along.empty() && below(2) == 0)
        dimensions.insert(dimensions.begin() + below(static_cast<int>(dimensions.size()) + 1),
                          along[static_cast<std::size_t>(below(static_cast<int>(along.size())))]);
      let(indent, dimensions);
    }
    if (within > 0) {
      Index& last = indices_[along.back()];
      out_ += indent + "loop u in " + last.name + " by " + std::to_string(within) + "\n";
      indent += "  ";
      last.name = "u";
      if (below(2) == 0) let(indent, {along.back(), static_cast<std::size_t>(below(3))});
    }
    for (const auto& [name, dimensions] : outputs)
      out_ += indent + name + subscripts(dimensions) + " = " + expression(dimensions, 3) + "\n";
    out_ += product;
    // Declarations of outputs stand in front.
    const std::size_t end = out_.find("input x0");
    return out_.substr(0, end) + head_ + out_.substr(end);
  }

 private:
  struct Index {
    std::string name;
    int extent;
    bool here;
  };
  struct Tensor {
    std::string name;
    std::vector<std::size_t> dimensions;
  };
  int below(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }
  int extentBelow(int most) { return below(32) == 0 ? 0 : 1 + below(most); }
  bool empty(const std::vector<std::size_t>& indices) const {
    return std::any_of(indices.begin(), indices.end(), [&](std::size_t d) { return indices_[d].extent == 0; });
  }

  // One to three of the whole indices, in any order.
  std::vector<std::size_t> some() {
    std::vector<std::size_t> all{0, 1, 2};
    std::shuffle(all.begin(), all.end(), rng_);
    all.resize(static_cast<std::size_t>(1 + below(3)));
    return all;
  }
  std::string subscripts(const std::vector<std::size_t>& dimensions) const {
    std::string text;
    for (const std::size_t d : dimensions) text += (text.empty() ? "[" : ", ") + indices_[d].name;
    return text + "]";
  }
  std::string line(const char* what, const std::string& name, const std::vector<std::size_t>& dimensions) {
    static constexpr const char* kTypes[] = {"f32", "f32", "f32", "f16", "bf16", "i8", "i32"};
    const bool output = what[0] == 'o';
    std::string text = std::string(what) + " " + name + " " +
                       (output             ? "f32"
                        : only_ != nullptr ? only_
                                           : kTypes[below(7)]);
    std::string extents;
    for (const std::size_t d : dimensions)
      extents += (extents.empty() ? " [" : ", ") + std::to_string(indices_[d].extent);
    text += extents + "]";
    if (below(4) == 0) {  // the dimensions in another order, with gaps, or all of one on each other
      std::vector<std::size_t> order(dimensions.size());
      for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
      std::shuffle(order.begin(), order.end(), rng_);
      std::vector<std::int64_t> strides(dimensions.size());
      std::int64_t stride = 1 + below(2);
      for (const std::size_t d : order) {
        strides[d] = stride;
        stride = stride * indices_[dimensions[d]].extent + below(3);
      }
      if (!output && below(3) == 0) strides[static_cast<std::size_t>(below(static_cast<int>(strides.size())))] = 0;
      std::string told;
      for (const std::int64_t s : strides) told += (told.empty() ? " strides [" : ", ") + std::to_string(s);
      text += told + "]";
    }
    return text + "\n";
  }
  void declare(const char* what, const std::string& name, const std::vector<std::size_t>& dimensions) {
    out_ += line(what, name, dimensions);
    tensors_.push_back({name, dimensions});
  }
  void let(const std::string& indent, const std::vector<std::size_t>& dimensions) {
    const std::string name = "v" + std::to_string(values_++);
    out_ += indent + "let " + name + subscripts(dimensions) + " = " + expression(dimensions, 2) + "\n";
    tensors_.push_back({name, dimensions});
  }

  // A tensor whose indices are all among these, or one of them; none: a number.
  std::string element(const std::vector<std::size_t>& indices) {
    if (below(8) == 0) {
      const Index& i = indices_[indices[static_cast<std::size_t>(below(static_cast<int>(indices.size())))]];
      if (i.here) return "(" + i.name + " * 0.125 - 1)";
    }
    std::vector<const Tensor*> fit;
    for (const Tensor& t : tensors_) {
      if (std::all_of(t.dimensions.begin(), t.dimensions.end(), [&](std::size_t d) {
            return indices_[d].here && std::find(indices.begin(), indices.end(), d) != indices.end();
          }))
        fit.push_back(&t);
    }
    if (fit.empty() || below(8) == 0) return std::to_string(below(9) - 4) + ".5";
    const Tensor& t = *fit[static_cast<std::size_t>(below(static_cast<int>(fit.size())))];
    return t.name + subscripts(t.dimensions);
  }
  // Lines of a product of two inputs in any order, as they lie or of copies in another one.
  std::string productOfMatrices() {
    std::vector<std::size_t> all{0, 1, 2};
    std::shuffle(all.begin(), all.end(), rng_);
    const auto shuffled = [&](std::size_t x, std::size_t y) {
      return below(2) == 0 ? std::vector<std::size_t>{x, y} : std::vector<std::size_t>{y, x};
    };
    std::string lines, factors;
    for (const char* name : {"ma", "mb"}) {
      const std::size_t own = all[name[1] == 'a' ? 0 : 1];
      std::vector<std::size_t> dimensions = shuffled(own, all[2]);
      declare("input", name, dimensions);
      std::string factor = name + subscripts(dimensions);
      if (below(2) == 0) {
        const std::string copy = std::string("c") + name + subscripts(shuffled(own, all[2]));
        lines += "let " + copy + " = " + std::exchange(factor, copy) + "\n";
      }
      factors += (factors.empty() ? "" : " * ") + factor;
    }
    const std::vector<std::size_t> target = shuffled(all[0], all[1]);
    head_ += line("output", "m", target);
    return lines + "m" + subscripts(target) + " = sum" + subscripts({all[2]}) + "(" + factors + ")\n";
  }
  std::string reduction(const std::vector<std::size_t>& outside, int depth) {
    std::vector<std::size_t> indices = outside;
    std::vector<std::size_t> over;
    for (std::size_t d = 0; d < indices_.size(); ++d) {
      const bool may = d < 3 || (serial_ && indices_[d].here);
      if (may && std::find(indices.begin(), indices.end(), d) == indices.end() && below(2) == 0) over.push_back(d);
    }
    if (over.empty()) over.push_back(static_cast<std::size_t>(below(3)));
    indices.insert(indices.end(), over.begin(), over.end());
    if (below(5) == 0 && times_ == 1) {  // for each number all are evaluated
      if (const std::string first = firstExtremum(indices, over); !first.empty()) return first;
    }
    // Each index is named by an element that has it: one input at least has all of them, or their product does.
    std::string inner;
    std::vector<std::size_t> missing = over;
    std::shuffle(tensors_.begin(), tensors_.end(), rng_);
    for (const Tensor& t : tensors_) {
      const auto fits = [&](std::size_t d) {
        return indices_[d].here && std::find(indices.begin(), indices.end(), d) != indices.end();
      };
      const auto names = [&](std::size_t d) {
        return std::find(t.dimensions.begin(), t.dimensions.end(), d) != t.dimensions.end();
      };
      if (!std::all_of(t.dimensions.begin(), t.dimensions.end(), fits) ||
          std::none_of(missing.begin(), missing.end(), names))
        continue;
      inner += (inner.empty() ? "" : " * ") + t.name + subscripts(t.dimensions);
      missing.erase(std::remove_if(missing.begin(), missing.end(), names), missing.end());
    }
    if (!missing.empty()) return element(outside);
    if (below(3) == 0) inner += " * " + element(indices);
    if (depth > 0 && below(4) == 0) inner = "tanh(" + inner + ") + " + inner;
    static constexpr const char* kHow[] = {"sum", "sum", "min", "max"};
    const std::string how = kHow[below(4)], text = how + subscripts(over) + "(" + inner + ")";
    // An extremum of nothing is infinite, and so would be what is made of it.
    return !empty(over) || how == "sum" ? text : how + "(" + text + (how == "min" ? ", 2)" : ", -2)");
  }
  // Text of where an input has its extremum; empty if no input has all indices. Inputs are the same to the last bit for whoever computes it.
  std::string firstExtremum(const std::vector<std::size_t>& indices, const std::vector<std::size_t>& over) {
    for (const Tensor& t : tensors_) {
      const auto fits = [&](std::size_t d) {
        return indices_[d].here && std::find(indices.begin(), indices.end(), d) != indices.end();
      };
      const auto named = [&](std::size_t d) {
        return std::find(t.dimensions.begin(), t.dimensions.end(), d) != t.dimensions.end();
      };
      if (t.name[0] == 'v' || empty(over) || !std::all_of(t.dimensions.begin(), t.dimensions.end(), fits) ||
          !std::all_of(over.begin(), over.end(), named))
        continue;
      const char* const how = below(2) == 0 ? "argmin" : "argmax";
      return how + subscripts(over) + "(" + t.name + subscripts(t.dimensions) + ") * 0.015625";
    }
    return "";
  }
  std::string expression(const std::vector<std::size_t>& indices, int depth) {
    if (depth == 0) return element(indices);
    const auto part = [&] { return expression(indices, depth - 1); };
    switch (below(12)) {
      case 0: return "(" + part() + " + " + part() + ")";
      case 1: return "(" + part() + " - " + part() + ")";
      case 2: return part() + " * " + part();
      case 3: return "max(" + part() + ", " + part() + ")";
      case 4: return "tanh(" + part() + ")";
      case 5: return "sigmoid(" + part() + ")";
      case 6: return "select(less(" + part() + ", 0.25), " + part() + ", " + part() + ")";
      case 7: return part() + " / (abs(" + part() + ") + 1)";
      case 8:
      case 9: return reduction(indices, depth);
      case 10: return "relu(" + reduction(indices, 0) + " + " + element(indices) + ")";
      default: return element(indices);
    }
  }

  std::mt19937 rng_;
  const int times_;  ///< so many times as many numbers has the largest index: more than registers hold, some of them
  const char* const
      only_;             ///< the type of all inputs, if it is one: of bf16 and i8 some products are dot products then
  bool serial_ = false;  ///< loops are: sums may go over their tiles
  std::string out_, head_;
  std::vector<Index> indices_;
  std::vector<Tensor> tensors_;
  int values_ = 0;
};

}  // namespace cubejit
