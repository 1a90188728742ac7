// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tree: rows are merged in pairs, the pairs in pairs again, some times or not at all; then each result gathers its words
// from the registers that hold them, one after the other. The depth that takes the fewest permutes is kept.
#include "codegen/units/interleave_tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cubejit {
namespace {

// A register, and the word of the dense row in each of its places; -1 = none.
struct TreeSource {
  int reg = 0;
  std::vector<int> holds;
};

// Some neighbouring rows, merged: the registers that hold them, in order of columns.
struct Group {
  int rows = 1;
  std::vector<TreeSource> sources;
};

class Builder {
 public:
  Builder(int words, int columns, int rows) : words_(words), total_(columns * rows) {
    for (int r = 0; r < rows; ++r) {
      std::vector<int> holds(static_cast<std::size_t>(words), -1);
      for (int c = 0; c < columns; ++c) holds[static_cast<std::size_t>(c)] = c * rows + r;
      groups_.push_back(Group{1, {TreeSource{r, std::move(holds)}}});
    }
    tree_.registers = rows;
  }

  InterleaveTree build(int depth) {
    for (int level = 0; level < depth; ++level) mergePairs();
    for (Group& group : groups_) {
      for (TreeSource& source : group.sources) sources_.push_back(std::move(source));
    }
    for (int begin = 0; begin < total_; begin += words_) gather(begin, std::min(begin + words_, total_));
    return std::move(tree_);
  }

 private:
  // Neighbours of equally many rows; what has no partner stays as it is.
  void mergePairs() {
    std::vector<Group> merged;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      Group& group = groups_[i];
      if (i + 1 == groups_.size() || groups_[i + 1].rows != group.rows) {
        merged.push_back(std::move(group));
        continue;
      }
      Group both{2 * group.rows, {}};
      for (std::size_t s = 0; s < group.sources.size(); ++s)
        merge(group.sources[s], groups_[i + 1].sources[s], both.sources);
      merged.push_back(std::move(both));
      ++i;
    }
    groups_ = std::move(merged);
  }

  // The words of both in order, in one register if there is room, else in two.
  void merge(const TreeSource& x, const TreeSource& y, std::vector<TreeSource>& out) {
    std::vector<int> all;
    for (const TreeSource* source : {&x, &y}) {
      std::copy_if(source->holds.begin(), source->holds.end(), std::back_inserter(all), [](int w) { return w >= 0; });
    }
    std::sort(all.begin(), all.end());
    const auto whole = static_cast<std::size_t>(words_);
    for (std::size_t begin = 0; begin < all.size(); begin += whole) {
      std::vector<int> holds(all.begin() + static_cast<std::ptrdiff_t>(begin),
                             all.begin() + static_cast<std::ptrdiff_t>(std::min(begin + whole, all.size())));
      holds.resize(whole, -1);
      // The last may replace the first source: that saves a copy and a register.
      out.push_back(placed(begin + whole >= all.size() ? x.reg : fresh(), holds, x, y));
    }
    free_.push_back(y.reg);
  }

  // The words [begin, end) of the dense row in one register.
  void gather(int begin, int end) {
    std::vector<const TreeSource*> needed;
    for (const TreeSource& source : sources_) {
      if (std::any_of(source.holds.begin(), source.holds.end(), [&](int w) { return w >= begin && w < end; }))
        needed.push_back(&source);
    }
    std::vector<int> wanted;
    for (int word = begin; word < begin + words_; ++word) wanted.push_back(word < end ? word : -1);
    if (needed.size() == 1 && needed.front()->holds == wanted) {
      tree_.results.push_back(needed.front()->reg);
      return;
    }
    const int dst = fresh();
    TreeSource sum = *needed.front();
    for (std::size_t i = 1; i < std::max<std::size_t>(2, needed.size()); ++i)
      sum = placed(dst, wanted, sum, *needed[std::min(i, needed.size() - 1)]);
    tree_.results.push_back(dst);
    for (const TreeSource* source : needed) {  // nobody needs a register whose words are all there
      if (*std::max_element(source->holds.begin(), source->holds.end()) < end) free_.push_back(source->reg);
    }
  }

  // A register that has the wanted words of both sources in their places.
  TreeSource placed(int dst, const std::vector<int>& wanted, const TreeSource& x, const TreeSource& y) {
    std::vector<int> table, holds;
    for (std::size_t place = 0; place < wanted.size(); ++place) {
      const int at = indexOf(wanted[place], x.holds, y.holds);
      table.push_back(at >= 0 ? at : static_cast<int>(place));
      holds.push_back(at >= 0 ? wanted[place] : -1);
    }
    auto at = std::find(tree_.tables.begin(), tree_.tables.end(), table);
    if (at == tree_.tables.end()) at = tree_.tables.insert(at, std::move(table));
    tree_.permutes.push_back({dst, static_cast<int>(at - tree_.tables.begin()), x.reg, y.reg});
    return TreeSource{dst, std::move(holds)};
  }

  // Where a word is: in x, or in y behind it; -1 = in neither.
  int indexOf(int word, const std::vector<int>& x, const std::vector<int>& y) const {
    if (word < 0) return -1;
    const auto inX = std::find(x.begin(), x.end(), word);
    if (inX != x.end()) return static_cast<int>(inX - x.begin());
    const auto inY = std::find(y.begin(), y.end(), word);
    return inY != y.end() ? words_ + static_cast<int>(inY - y.begin()) : -1;
  }

  int fresh() {
    if (free_.empty()) return tree_.registers++;
    const int reg = free_.back();
    free_.pop_back();
    return reg;
  }

  const int words_, total_;
  std::vector<Group> groups_;
  std::vector<TreeSource> sources_;
  std::vector<int> free_;
  InterleaveTree tree_;
};

}  // namespace

InterleaveTree interleaveTree(int words, int columns, int rows) {
  InterleaveTree best = Builder(words, columns, rows).build(0);
  for (int depth = 1; 1 << depth <= rows; ++depth) {
    InterleaveTree deeper = Builder(words, columns, rows).build(depth);
    if (deeper.permutes.size() < best.permutes.size()) best = std::move(deeper);
  }
  return best;
}

}  // namespace cubejit
