// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where calls run straight on: between loops, choices and the windows of choices. Windows follow the calls that are left.
#include "codegen/tile/elide_copies.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "codegen/tile/gather_moves.h"
#include "codegen/tile/straight_calls.h"
#include "codegen/tile/unit_flags.h"

namespace cubejit {
namespace {

// Numbers of kernels and lists that a program has or gets.
class Calling {
 public:
  explicit Calling(TileProgram& program) : p_(program) {}

  struct Place {
    Variant variant;
    std::int64_t a = 0, c = 0;
    bool reads = true;
  };

  /// The calls that do what a gather does.
  const std::vector<Place>& callsOf(int gather, const Gather& what) {
    const auto [it, fresh] = known_.try_emplace(gather);
    if (!fresh) return it->second;
    for (ListedMatrices& moves : movesOf(what)) {
      Place place;
      place.a = moves.a;
      place.c = moves.c;
      place.reads = !std::holds_alternative<Fill>(moves.kernel);
      place.variant.kernel = number(p_.kernels, kernelOf(std::move(moves.kernel)));
      place.variant.list = number(p_.lists, std::move(moves.list));
      it->second.push_back(place);
    }
    return it->second;
  }

 private:
  template <class T>
  static int number(std::vector<T>& all, T one) {
    const auto same = std::find(all.begin(), all.end(), one);
    const auto index = static_cast<int>(same - all.begin());
    if (same == all.end()) all.push_back(std::move(one));
    return index;
  }

  TileProgram& p_;
  std::map<int, std::vector<Place>> known_;
};

class PhaseElision {
 public:
  PhaseElision(TileProgram& program, Phase& phase, GatherPool& pool, Calling& calling)
      : program_(program), phase_(phase), pool_(pool), calling_(calling), buffers_(program, phase) {}

  bool run(const CopyElision& options) {
    collect(phase_.body, {});
    std::vector<bool> through;
    for (std::size_t b = 0; b < program_.buffers.size(); ++b)
      through.push_back(buffers_.isPrivate(static_cast<int>(b)) && buffers_.oneOrigin(static_cast<int>(b)));
    for (StraightCalls& s : sequences_) s.exclude(through);
    for (StraightCalls& s : sequences_) s.forward(through, options.mostReads);
    rebuild(phase_.body, {});
    return changed_;
  }

 private:
  // Beginnings of what runs straight on: windows and what is no call end it.
  static std::vector<bool> cuts(const std::vector<Node>& nodes, const std::vector<Window>& windows) {
    std::vector<bool> cut(nodes.size() + 1);
    for (const Window& w : windows)
      cut[static_cast<std::size_t>(w.begin)] = cut[static_cast<std::size_t>(w.end)] = true;
    cut.back() = true;
    return cut;
  }
  static std::size_t endOf(const std::vector<Node>& nodes, const std::vector<bool>& cut, std::size_t begin) {
    std::size_t end = begin + 1;
    while (!cut[end] && nodes[end].isCall()) ++end;
    return end;
  }

  void collect(const std::vector<Node>& nodes, const std::vector<Window>& windows) {
    const std::vector<bool> cut = cuts(nodes, windows);
    for (std::size_t i = 0; i < nodes.size();) {
      if (!nodes[i].isCall()) {
        collect(nodes[i].body, nodes[i].windows);
        ++i;
        continue;
      }
      const std::size_t end = endOf(nodes, cut, i);
      sequences_.emplace_back(buffers_, pool_, nodes, i, end);
      i = end;
    }
  }

  // In the order of collect().
  void rebuild(std::vector<Node>& nodes, const std::vector<Window*>& windows) {
    std::vector<Node> out;
    std::vector<int> place;  // of each node in what comes out
    std::size_t left = 0;    // of a sequence
    const std::vector<CallPart>* calls = nullptr;
    std::vector<Window> plain;
    for (const Window* w : windows) plain.push_back(*w);
    const std::vector<bool> cut = cuts(nodes, plain);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      place.push_back(static_cast<int>(out.size()));
      Node& node = nodes[i];
      if (!node.isCall()) {
        std::vector<Window*> inner;
        for (Window& w : node.windows) inner.push_back(&w);
        rebuild(node.body, inner);
        out.push_back(std::move(node));
        continue;
      }
      if (left == 0) {
        left = endOf(nodes, cut, i) - i;
        calls = &sequences_[next_++].calls();
      }
      put((*calls)[calls->size() - left--], node, out);
    }
    place.push_back(static_cast<int>(out.size()));
    for (Window* w : windows) *w = {place[static_cast<std::size_t>(w->begin)], place[static_cast<std::size_t>(w->end)]};
    nodes = std::move(out);
  }

  void put(const CallPart& part, Node& node, std::vector<Node>& out) {
    changed_ = changed_ || part.gone || part.replaced;
    if (part.gone) return;
    if (!part.replaced) {
      out.push_back(std::move(node));
      return;
    }
    for (const Calling::Place& place : calling_.callsOf(part.gather, pool_.at(part.gather).gather)) {
      Node copy = node;
      copy.call.a = place.reads ? part.a : -1;
      copy.call.variants = {place.variant};
      copy.call.place.offset = {place.reads ? part.from + place.a : 0, 0, part.to + place.c, 0};
      node.call.issues = false;
      out.push_back(std::move(copy));
    }
  }

  TileProgram& program_;
  Phase& phase_;
  GatherPool& pool_;
  Calling& calling_;
  const PhaseBuffers buffers_;
  std::deque<StraightCalls> sequences_;
  std::size_t next_ = 0;
  bool changed_ = false;
};

template <class Visit>
void eachVariant(std::vector<Node>& nodes, const Visit& visit) {
  for (Node& node : nodes) {
    eachVariant(node.body, visit);
    if (!node.isCall()) continue;
    for (Variant& v : node.call.variants) visit(v);
  }
}

// Keeps those that are used; returns their new numbers.
template <class T>
std::vector<int> keepUsed(std::vector<T>& all, const std::vector<bool>& used) {
  std::vector<int> numbers(all.size(), -1);
  std::vector<T> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!used[i]) continue;
    numbers[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(all[i]));
  }
  all = std::move(kept);
  return numbers;
}

void dropUnused(TileProgram& p) {
  std::vector<bool> kernels(p.kernels.size()), lists(p.lists.size());
  const auto all = [&](const auto& visit) {
    for (Phase& phase : p.phases) eachVariant(phase.body, visit);
  };
  all([&](const Variant& v) {
    if (v.kernel >= 0) kernels[static_cast<std::size_t>(v.kernel)] = true;
    if (v.aligned >= 0) kernels[static_cast<std::size_t>(v.aligned)] = true;
    if (v.list >= 0) lists[static_cast<std::size_t>(v.list)] = true;
  });
  const std::vector<int> kernel = keepUsed(p.kernels, kernels), list = keepUsed(p.lists, lists);
  all([&](Variant& v) {
    if (v.kernel >= 0) v.kernel = kernel[static_cast<std::size_t>(v.kernel)];
    if (v.aligned >= 0) v.aligned = kernel[static_cast<std::size_t>(v.aligned)];
    if (v.list >= 0) v.list = list[static_cast<std::size_t>(v.list)];
  });
}

}  // namespace

TileProgram elideCopies(TileProgram program, const CopyElision& options) {
  GatherPool pool;
  Calling calling(program);
  bool changed = false;
  for (Phase& phase : program.phases) changed = PhaseElision(program, phase, pool, calling).run(options) || changed;
  if (changed) {
    dropUnused(program);
    clearUnitFlags(program);
  }
  return program;
}

}  // namespace cubejit
