// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how each rule reads.
#include "codegen/lang/check.h"

#include <algorithm>
#include <set>
#include <string>

#include "codegen/lang/empty.h"

namespace cubejit::lang {
namespace {

class Checker {
 public:
  explicit Checker(const Source& k) : k_(k), written_(k.tensors.size()) {
    for (std::size_t t = 0; t < k.tensors.size(); ++t)
      written_[t] = k.tensors[t].use == Buffer::Use::kInput || k.tensors[t].use == Buffer::Use::kConstant;
  }

  Status run() {
    items(k_.body);
    for (std::size_t t = 0; t < k_.tensors.size(); ++t) {
      const Tensor& tensor = k_.tensors[t];
      if (tensor.use != Buffer::Use::kOutput || !tensor.hasElements()) continue;
      if (!written_[t]) fail(tensor.line, "nothing writes output " + tensor.name);
      if (overlaps(tensor))
        fail(tensor.line, "elements of output " + tensor.name +
                              " lie on each other: its strides are smaller than what they stride over");
    }
    if (broken_.empty()) return Unit{};
    return Error{ErrorCode::kInvalidProblem, Stage::kTile, broken_};
  }

 private:
  const Index& index(int i) const { return k_.indices[static_cast<std::size_t>(i)]; }
  const Tensor& tensor(int t) const { return k_.tensors[static_cast<std::size_t>(t)]; }

  void fail(int line, const std::string& what) {
    const std::string text = "line " + std::to_string(line) + ": " + what;
    if (told_.insert(text).second) broken_ += (broken_.empty() ? "" : "\n") + text;
  }

  static bool overlaps(const Tensor& t) {
    std::vector<Tensor::Dimension> all;
    std::copy_if(t.dimensions.begin(), t.dimensions.end(), std::back_inserter(all),
                 [](const auto& d) { return d.extent > 1; });
    std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.stride < y.stride; });
    std::int64_t behind = 1;
    for (const Tensor::Dimension& d : all) {
      if (d.stride < behind) return true;
      behind = (d.extent - 1) * d.stride + behind;
    }
    return false;
  }

  void items(const std::vector<Item>& all) {
    for (const Item& item : all) {
      if (item.index < 0) {
        statement(item.statement);
        continue;
      }
      const Index& loop = index(item.index);
      const bool parallel = loop.loop == Index::Loop::kParallel;
      if (parallel &&
          !std::all_of(loops_.begin(), loops_.end(), [&](int l) { return index(l).loop == Index::Loop::kParallel; }))
        fail(loop.line, "the parallel loop over " + loop.name +
                            " stands within another sort of loop; parallel loops stand outermost");
      else if (parallel && !loops_.empty() && !alone_)
        fail(loop.line,
             "the parallel loop over " + loop.name + " does not stand alone in the one around it; make it a loop");
      if (loops_.empty()) touched_.clear();
      loops_.push_back(item.index);
      alone_ = item.body.size() == 1;
      items(item.body);
      if (loops_.size() == 1) betweenTasks();
      loops_.pop_back();
      alone_ = false;
    }
  }

  // What a task writes no other one reads or writes: a dimension tells tasks apart.
  void betweenTasks() {
    for (const Touch& write : touched_) {
      if (!write.writes) continue;
      for (const Touch& other : touched_) {
        if (other.access.tensor != write.access.tensor || other.access == write.access) continue;
        for (const int q : write.parallel) {
          bool apart = index(q).extent <= index(q).tile;
          for (std::size_t d = 0; d < write.access.at.size() && !apart; ++d)
            apart = tellsApart(write.access.at[d], other.access.at[d], q);
          if (apart) continue;
          line_ = other.line;
          fail(line_, std::string(other.writes ? "writes " : "reads ") + tensor(write.access.tensor).name +
                          " where other tasks of the parallel loop over " + index(q).name + " may write it (line " +
                          std::to_string(write.line) + "); a task touches what it writes alone");
        }
      }
    }
  }

  void statement(const Statement& s) {
    line_ = s.line;
    const Tensor& target = tensor(s.target.tensor);
    if (target.use == Buffer::Use::kInput) fail(line_, target.name + " is an input; inputs are read only");
    access(s.target, "writes");
    std::vector<int> named = indicesOf(s.target);
    std::vector<int> terms;
    for (const Subscript& at : s.target.at) {
      for (const Subscript::Term& t : at.terms) {
        if (contains(terms, t.index))
          fail(line_, target.name + " has index " + index(t.index).name + " in two dimensions; a target has each once");
        terms.push_back(t.index);
      }
    }
    // A loop that sees one number at a time has no values along its index.
    for (const int l : loops_) {
      if (index(l).tile == 1) named.push_back(l);
    }
    target_ = &s.target;
    value(s.value, named);
    races(s.target);
    written_[static_cast<std::size_t>(s.target.tensor)] = true;
  }

  std::vector<int> indicesOf(const Access& a) const {
    std::vector<int> all;
    for (const Subscript& s : a.at) {
      for (const Subscript::Term& t : s.terms) all.push_back(t.index);
    }
    return all;
  }

  // `named`: along which the expression may have values.
  void value(const Expr& e, std::vector<int> named) {
    if (const auto* a = std::get_if<Access>(&e.what)) {
      access(*a, "reads");
      if (!written_[static_cast<std::size_t>(a->tensor)])
        fail(line_, tensor(a->tensor).name + " is read, and no line above writes it");
      for (const int i : indicesOf(*a)) {
        const bool number = tensor(a->tensor).use == Buffer::Use::kConstant;
        if (!contains(named, i))
          fail(line_, (number ? "index " : tensor(a->tensor).name + " has values along ") + index(i).name +
                          (number ? " is a number here" : "") +
                          ", which the target does not name; sum, min or max over it, or name it");
      }
    }
    if (const auto* how = std::get_if<Reduction>(&e.what)) {
      named.insert(named.end(), how->over.begin(), how->over.end());
    }
    for (const Expr& part : e.of) value(part, named);
  }

  void access(const Access& a, const char* does) {
    const Tensor& t = tensor(a.tensor);
    const bool writes = does[0] == 'w';
    if (t.use != Buffer::Use::kPrivate && t.use != Buffer::Use::kInput) {
      Touch touch{a, line_, writes, {}};
      for (const int l : loops_) {
        if (index(l).loop == Index::Loop::kParallel) touch.parallel.push_back(l);
      }
      touched_.push_back(std::move(touch));
    }
    if (!writes && a.tensor == target_->tensor && !(a == *target_) && !disjoint(a, *target_))
      fail(line_, "reads other elements of " + t.name +
                      " than each that it writes: which of them are written by then is not said; 'let' a copy of them");
    for (std::size_t d = 0; d < a.at.size(); ++d) {
      const Subscript& s = a.at[d];
      const Tensor::Dimension& dimension = t.dimensions[d];
      std::int64_t least = s.constant, most = s.constant;
      for (const Subscript::Term& term : s.terms) {
        const Index& i = index(term.index);
        if (i.loop != Index::Loop::kNone && !contains(loops_, term.index))
          fail(line_, "index " + i.name + " stands outside its loop of line " + std::to_string(i.line));
        if (std::abs(term.factor) > kMostElements / std::max<std::int64_t>(1, dimension.stride))
          fail(line_, "steps of " + i.name + " in dimension " + std::to_string(d) + " of " + t.name +
                          " are further than 2^37 elements");
        const std::int64_t end = term.factor * (i.extent - 1);
        least += std::min<std::int64_t>(0, end), most += std::max<std::int64_t>(0, end);
      }
      if (dimension.tileOf >= 0) {
        const bool within = s.terms.size() == 1 && s.terms.front().factor == 1 && s.constant == 0 &&
                            isPartOf(k_.indices, s.terms.front().index, dimension.tileOf);
        if (!within)
          fail(line_, t.name + " holds one tile of " + index(dimension.tileOf).name + " in dimension " +
                          std::to_string(d) + ": its subscript is " + index(dimension.tileOf).name +
                          " alone, or a loop's over that tile");
        continue;
      }
      if (least < 0 || most >= dimension.extent)
        fail(line_,
             std::string(does) + " " + t.name + " outside: dimension " + std::to_string(d) +
                 (dimension.extent == 0 ? " has no elements" : " has 0 to " + std::to_string(dimension.extent - 1)) +
                 ", its subscript goes from " + std::to_string(least) + " to " + std::to_string(most));
    }
  }

  // Whether the elements of both differ in a dimension, for each pass of the loops around.
  bool disjoint(const Access& x, const Access& y) const {
    for (std::size_t d = 0; d < x.at.size(); ++d) {
      const bool fixed = std::all_of(x.at[d].terms.begin(), x.at[d].terms.end(), [&](const auto& t) {
        return contains(loops_, t.index) && index(t.index).tile == 1;
      });
      if (fixed && x.at[d].terms == y.at[d].terms && x.at[d].constant != y.at[d].constant) return true;
    }
    return false;
  }

  // Whether both places are the same for no two different numbers of an index, whatever the others are; but for parallel loops that step further
  // and tell apart by themselves, as n does in [8 * n + q]: of tasks that differ in q alone it is the same.
  bool tellsApart(const Subscript& x, const Subscript& y, int q) const {
    const std::int64_t factor = factorOf(x, q);
    const auto further = [&](const Subscript::Term& term) {
      return index(term.index).loop == Index::Loop::kParallel && index(term.index).extent > 1 &&
             std::abs(term.factor) > std::abs(factor);
    };
    const auto holds = [&](const Subscript::Term& term) { return !further(term) || stepsOver(x, y, term.index); };
    return stepsOver(x, y, q) && std::all_of(x.terms.begin(), x.terms.end(), holds) &&
           std::all_of(y.terms.begin(), y.terms.end(), holds);
  }

  std::int64_t factorOf(const Subscript& s, int loop) const {
    for (const Subscript::Term& term : s.terms) {
      if (isPartOf(k_.indices, term.index, loop)) return term.factor;
    }
    return 0;
  }

  // Whether a number of the loop is a longer step in both than all that is not a parallel loop's longer one.
  bool stepsOver(const Subscript& x, const Subscript& y, int loop) const {
    std::int64_t least = y.constant - x.constant, most = least;  // of what else y has more than x
    const std::int64_t factor = factorOf(x, loop);
    const auto add = [&](const Subscript& s, std::int64_t sign) {
      for (const Subscript::Term& term : s.terms) {
        const bool longer =
            index(term.index).loop == Index::Loop::kParallel && std::abs(term.factor) > std::abs(factor);
        if (longer || isPartOf(k_.indices, term.index, loop)) continue;
        const std::int64_t end = sign * term.factor * (index(term.index).extent - 1);
        least += std::min<std::int64_t>(0, end), most += std::max<std::int64_t>(0, end);
      }
    };
    add(x, -1), add(y, 1);
    return factor != 0 && factor == factorOf(y, loop) && std::max(std::abs(least), std::abs(most)) < std::abs(factor);
  }

  void races(const Access& a) {
    const Tensor& t = tensor(a.tensor);
    if (t.use == Buffer::Use::kPrivate) return;
    for (const int q : loops_) {
      if (index(q).loop != Index::Loop::kParallel) continue;
      const bool apart = std::any_of(a.at.begin(), a.at.end(), [&](const Subscript& s) { return tellsApart(s, s, q); });
      const bool several = index(q).extent > index(q).tile;
      if (!apart && several)
        fail(line_, "tasks of the parallel loop over " + index(q).name + " (line " + std::to_string(index(q).line) +
                        ") write the same elements of " + t.name + ": no dimension of it is " + index(q).name +
                        "'s own");
    }
  }

  struct Touch {
    Access access;
    int line;
    bool writes;
    std::vector<int> parallel;  ///< loops around it
  };

  const Source& k_;
  std::vector<bool> written_;
  std::vector<Touch> touched_;  ///< of the outermost loop, what is not a task's own
  const Access* target_ = nullptr;
  std::vector<int> loops_;
  bool alone_ = false;
  int line_ = 0;
  std::set<std::string> told_;
  std::string broken_;
};

}  // namespace

Status check(const Source& kernel) {
  if (kernel.body.empty())
    return Error{ErrorCode::kInvalidProblem, Stage::kTile, "line 1: a kernel without a statement"};
  const Source happens = withoutEmpty(kernel);
  return Checker(happens).run();
}

}  // namespace cubejit::lang
