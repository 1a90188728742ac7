// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where lists are cut: by counting the products of sections' iterations.
#include "algorithms/kit/lower/chained_call.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tiling/rounding.h"
#include "tiling/work_limit.h"

namespace cubejit {
namespace {

// The most products that one accumulator, of one set, adds up in an iteration.
std::int64_t chainOf(const Contract& contract, const Section& section) {
  std::vector<std::int64_t> products(contract.accumulators.size() * static_cast<std::size_t>(contract.sets));
  for (std::size_t k = 0; k < section.steps.size(); ++k) {
    const std::size_t set = k % static_cast<std::size_t>(contract.sets) * contract.accumulators.size();
    for (const AOperand& a : section.steps[k].a) {
      for (const Use& use : a.uses) products[set + static_cast<std::size_t>(use.acc)] += membersOf(contract.products);
    }
  }
  return products.empty() ? 0 : *std::max_element(products.begin(), products.end());
}

std::vector<std::int64_t> chainsOf(const Contract& contract) {
  std::vector<std::int64_t> out;
  for (const Section& section : contract.sections) out.push_back(chainOf(contract, section));
  return out;
}

std::vector<SegmentList> cut(const Contract& contract, const SegmentList& list, const std::vector<std::int64_t>& chains,
                             std::int64_t most) {
  std::int64_t all = 0;
  for (std::size_t s = 0; s < list.size(); ++s) {
    for (const Segment& segment : list[s]) all += segment.outer * chains[s];
  }
  if (all <= most) return {list};
  const std::int64_t each = ceilDiv(all, ceilDiv(all, most));
  std::vector<SegmentList> out;
  std::int64_t room = 0;
  for (std::size_t s = 0; s < list.size(); ++s) {
    const Section& section = contract.sections[s];
    for (Segment rest : list[s]) {
      while (rest.outer > 0) {
        if (room < chains[s] || out.empty()) {
          out.emplace_back(list.size());
          room = each;
        }
        Segment piece = rest;
        if (chains[s] > 0) piece.outer = std::min(rest.outer, std::max<std::int64_t>(1, room / chains[s]));
        out.back()[s].push_back(piece);
        room -= piece.outer * chains[s];
        rest.outer -= piece.outer;
        rest.aOffset += piece.outer * section.aOuterStep;
        rest.bOffset += piece.outer * section.bOuterStep;
      }
    }
  }
  return out;
}

}  // namespace

std::vector<SegmentList> boundedChains(const Contract& contract, const SegmentList& list, std::int64_t most) {
  return cut(contract, list, chainsOf(contract), most);
}

Node chainedCall(ProgramBuilder& b, Call call, std::int64_t most) {
  // Variants share kernels and lists.
  std::map<int, std::vector<std::int64_t>> chains;
  std::map<std::pair<int, int>, std::vector<SegmentList>> lists;
  std::size_t longest = 1;
  for (const Variant& v : call.variants) {
    if (v.kernel < 0 || v.list < 0 || lists.count({v.kernel, v.list}) > 0) continue;
    const auto& contract = std::get<Contract>(b.kernelAt(v.kernel));
    auto [of, fresh] = chains.try_emplace(v.kernel);
    if (fresh) of->second = chainsOf(contract);
    std::vector<SegmentList> pieces = cut(contract, b.listAt(v.list), of->second, most);
    longest = std::max(longest, pieces.size());
    lists.emplace(std::pair{v.kernel, v.list}, std::move(pieces));
  }
  if (longest == 1) return callNode(std::move(call));
  limitWork(static_cast<double>(longest) * static_cast<double>(call.variants.size()), 4 * FewerSteps::most(),
            "chains of all variants of a call");
  std::map<std::pair<int, int>, std::vector<int>> added;
  for (auto& [of, pieces] : lists) {
    for (SegmentList& piece : pieces) added[of].push_back(pieces.size() == 1 ? of.second : b.addList(std::move(piece)));
  }
  const int chain = b.addAxis("chain", static_cast<int>(longest));
  for (std::size_t i = 0; i < longest; ++i) b.addStep(chain, Deltas{}, static_cast<int>(i));
  std::vector<Variant> variants;
  for (const Variant& v : call.variants) {
    for (std::size_t i = 0; i < longest; ++i) {
      const auto of = added.find({v.kernel, v.list});
      if (of == added.end())
        variants.push_back(i == 0 ? v : Variant{});
      else
        variants.push_back(i < of->second.size() ? Variant{v.kernel, of->second[i], v.accumulate || i > 0} : Variant{});
    }
  }
  call.classAxes.push_back(chain);
  call.variants = std::move(variants);
  return loopNode(chain, {callNode(std::move(call))});
}

}  // namespace cubejit
