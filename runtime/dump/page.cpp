// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the page's data, as JSON inside the page: programs as rows, and which row belongs to which.
#include "runtime/dump/page.h"

#include <algorithm>
#include <array>

#include "codegen/tile/overloaded.h"
#include "codegen/tile/print.h"
#include "codegen/tile/touch.h"
#include "codegen/vector/op_table.h"
#include "codegen/vector/print.h"
#include "cubejit/cubejit.hpp"
#include "runtime/dump/chip.h"
#include "runtime/dump/explain.h"
#include "runtime/dump/page_assets.h"
#include "runtime/dump/throughput_text.h"
#include "runtime/text/json_value.h"
#include "runtime/text/problem_text.h"

namespace cubejit {
namespace {

// What assemblers call a vector register.
const char* registerName(const HostIsa& isa) {
  if (architectureOf(isa.level) == Architecture::kAarch64) return isa.maskRegs > 0 ? "z" : "v";
  return isa.vectorBits == 512 ? "zmm" : "ymm";
}

class PageData {
 public:
  PageData(const ExplainedPass& pass, const BinaryTools& tools) : g_(pass), s_(pass.stages), tools_(tools) {}

  Json run() {
    // Loops of a chip's program run in the caches of the host.
    const Buffers caches = s_.machine.isEmulated() ? detectHost(s_.machine.isa.level).buffers : s_.machine.buffers;
    Json out{{"name", dumpName(s_)},
             {"version", version()},
             {"pass", convolution_ == nullptr ? "kernel" : toString(convolution_->plan.pass)},
             {"isa", toString(s_.machine.isa.level)},
             {"flags", std::visit(overloaded{[](const OfConvolution& c) { return toFlags(c.problem); },
                                             [](const OfKernelText& k) { return settingFlags(k.source); }},
                                  s_.origin)},
             {"machine",
              {{"l1", caches.l0aBytes},
               {"l2", caches.l1Bytes},
               {"l3", caches.l2Bytes},
               {"registers", s_.machine.isa.vectorRegs},
               {"vector_bytes", s_.machine.isa.vectorBits / 8},
               {"letter", registerName(s_.machine.isa)}}}};
    if (convolution_ != nullptr) out["problem"] = problem(convolution_->problem);
    if (const auto* const k = std::get_if<OfKernelText>(&s_.origin)) {
      out["kernel"] = k->source.name;
      out["text"] = k->text;
    }
    if (!s_.measured.empty()) out["measured"] = s_.measured;
    if (s_.machine.isEmulated()) out["chip"] = Json::parse(chipFacts(s_));
    for (const Buffer& b : s_.tile.buffers) out["buffers"].push_back(buffer(b));
    for (const Phase& phase : s_.tile.phases) out["phases"].push_back(phaseOf(phase));
    for (std::size_t k = 0; k < s_.vectors.size(); ++k) out["kernels"].push_back(kernel(k));
    return out;
  }

 private:
  static Json problem(const Problem& p) {
    return {{"rank", p.rank},
            {"batch", p.batch},
            {"cin", p.cin},
            {"cout", p.cout},
            {"groups", p.groups},
            {"in", dhw(p.in)},
            {"out", dhw(p.out)},
            {"kernel", dhw(p.kernel)},
            {"stride", dhw(p.stride)},
            {"dilation", dhw(p.dilation)},
            {"pad", dhw(p.padBefore)},
            {"transposed", p.transposed},
            {"dtype", toString(p.dtype)},
            {"layout", toString(p.layout)}};
  }
  static Json dhw(const Dhw& v) { return Json::array({v.d, v.h, v.w}); }

  Json buffer(const Buffer& b) const {
    Json out{{"name", b.name}, {"role", roleOf(b)}, {"bytes", b.bytes}};
    auto axes = g_.elements->axesOf(b);
    if (!axes) return out;
    if (axes->positional) {
      for (std::string& name : axes->names) name += ":";
      axes->names.resize(std::max(axes->names.size(), kDrawnAxes));
    }
    out["axes"] = axes->names;
    out["extent"] = drawn(axes->extent, 1);
    return out;
  }
  // By its role a tensor has its colour: a convolution's by its name, a kernel's in turns.
  std::string roleOf(const Buffer& b) const {
    if (convolution_ != nullptr) return b.isCallers() ? b.name : toString(b.use);
    return "t" + std::to_string(static_cast<std::size_t>(&b - s_.tile.buffers.data()) % kColours);
  }
  // The page's pictures take five axes or more.
  static std::vector<std::int64_t> drawn(std::vector<std::int64_t> numbers, std::int64_t rest) {
    numbers.resize(std::max(numbers.size(), kDrawnAxes), rest);
    return numbers;
  }

  Json phaseOf(const Phase& phase) const {
    Json out{{"name", phase.name}, {"tasks", taskCount(phase)}, {"over", Json::array()}, {"nest", Json::array()}};
    for (const int a : phase.parallelAxes) out["over"].push_back(axisText(phase, a));
    nest(phase, phase.body, 0, out["nest"]);
    return out;
  }
  static Json axisText(const Phase& phase, int axis) {
    const Axis& a = phase.axes[static_cast<std::size_t>(axis)];
    return {{"axis", a.name}, {"steps", a.steps.size()}};
  }
  void nest(const Phase& phase, const std::vector<Node>& nodes, int depth, Json& out) const {
    for (const Node& node : nodes) {
      if (!node.isCall()) {
        if (node.axis >= 0) {
          Json line = axisText(phase, node.axis);
          line["depth"] = depth;
          out.push_back(std::move(line));
        }
        nest(phase, node.body, depth + 1, out);
        continue;
      }
      Json kernels = Json::array();
      for (const Variant& v : node.call.variants) {
        for (const int kernel : {v.kernel, v.aligned}) {
          if (kernel >= 0 && std::find(kernels.begin(), kernels.end(), Json(kernel)) == kernels.end())
            kernels.push_back(kernel);
        }
      }
      out.push_back({{"call", node.call.name}, {"depth", depth}, {"kernels", std::move(kernels)}});
    }
  }

  Json touch(const KernelStory& story, const Touch& t) const {
    Json out{{"b", t.buffer}, {"m", t.place.buffer}, {"s", text(story, t)}};
    if (!t.isTensor) return out;
    out["at"] = drawn(t.at, 0);
    out["n"] = t.lanes;
    out["ax"] = t.laneAxis;
    out["st"] = t.laneStride;
    for (const Touch::Move& m : t.moves) out["mv"].push_back({m.loop, m.axis, m.by});
    return out;
  }

  Json kernel(std::size_t k) const {
    const KernelStory story = g_.story(k);
    const Annotation& a = g_.annotations[k];
    const bool contract = multiplies(s_.tile.kernels[k]);
    std::string what = print(s_.tile.kernels[k], Detail::kSummary);
    what = what.substr(0, what.find('\n'));
    Json out{{"name", s_.vectors[k].name},
             {"what", what},
             {"contract", contract},
             {"calls", a.use.calls},
             {"phase", a.use.phaseName},
             {"call", a.use.callName},
             {"bytes", s_.codes[k].bytes.size()}};
    out["head"] = headLines(story);
    const std::vector<std::string> loops = loopLines(story);
    out["loops"] = Json::array();
    for (std::size_t l = 0; l < loops.size(); ++l) {
      const LoopFact& fact = a.trace.loops[l];
      out["loops"].push_back(
          {{"s", loops[l]}, {"b", fact.begin}, {"e", fact.end}, {"p", fact.parent}, {"t", fact.trips}});
    }
    out["acc"] = Json::array();
    for (const AccumulatorFact& acc : a.accumulators)
      out["acc"].push_back({{"r", acc.reg}, {"t", touch(story, acc.result)}});
    out["operands"] = operands(k);
    out["ops"] = ops(story);
    out["asm"] = machine(k);
    out["cpus"] = blocks(k);
    return out;
  }

  // How many bytes a call moves through each pointer, and where they are.
  Json operands(std::size_t k) const {
    const KernelUse& use = g_.annotations[k].use;
    Json out = Json::array();
    if (use.calls == 0) return out;
    const SegmentList* list = use.list < 0 ? nullptr : &s_.tile.lists[static_cast<std::size_t>(use.list)];
    const auto ranges = extents(s_.tile.kernels[k], list);
    for (std::size_t o = 0; o < 3; ++o) {
      if (use.at[o].buffer < 0) continue;
      const std::int64_t once = std::max<std::int64_t>(0, ranges[o].end - ranges[o].begin);
      const std::int64_t step = use.repeatStep[o] < 0 ? -use.repeatStep[o] : use.repeatStep[o];
      out.push_back({{"o", std::string(1, "ABC"[o])},
                     {"buffer", use.at[o].buffer},
                     {"bytes", once},
                     {"all", once + (use.repeat - 1) * step}});
    }
    return out;
  }

  Json ops(const KernelStory& story) const {
    const VectorProgram& v = story.vector;
    const std::vector<std::string> said = phrases(story);
    std::array<int, 32> loadedBy;
    loadedBy.fill(-1);
    std::array<bool, 32> isResult{};
    for (const AccumulatorFact& acc : story.annotation.accumulators) isResult[static_cast<std::size_t>(acc.reg)] = true;
    Json out = Json::array();
    std::size_t comment = 0;
    int depth = 0;
    for (std::size_t i = 0; i < v.code.size(); ++i) {
      const VInstr& instr = v.code[i];
      const OpRow& row = rowOf(instr.op);
      if (instr.op == VOp::kEndLoop) depth = std::max(0, depth - 1);
      Json op{{"t", print(instr)}, {"d", depth}, {"l", story.annotation.trace.loopOf[i]}};
      if (instr.op == VOp::kLoop) ++depth;
      std::string above;
      for (; comment < v.comments.size() && v.comments[comment].first <= static_cast<std::int32_t>(i); ++comment)
        above += (above.empty() ? "" : "; ") + v.comments[comment].second;
      if (!above.empty()) op["c"] = above;
      if (!said[i].empty()) op["p"] = said[i];
      if (const auto& t = story.annotation.touches[i]) op["w"] = touch(story, *t);
      const auto registers = {std::pair{row.src1, instr.src1}, std::pair{row.src2, instr.src2},
                              std::pair{row.src3, instr.src3}, std::pair{row.dst, instr.dst}};
      for (const auto& [kind, reg] : registers) {
        if (!isVector(kind)) continue;
        const auto r = static_cast<std::size_t>(reg);
        if (isResult[r])
          op["a"] = reg;
        else if (loadedBy[r] >= 0 && (kind == OperandKind::U || &kind != &row.dst) && reg != instr.dst)
          op["u"].push_back(loadedBy[r]);
      }
      if (isVector(row.dst)) {
        const bool loads = row.mem == MemUse::R && row.dst == OperandKind::V && op.contains("w");
        loadedBy[static_cast<std::size_t>(instr.dst)] = loads ? static_cast<int>(i) : -1;
      }
      out.push_back(std::move(op));
    }
    return out;
  }

  Json machine(std::size_t k) const {
    const Code& code = g_.codes[k];
    Json out = Json::array();
    std::size_t next = 0;
    int op = -1;
    for (const MachineLine& m : g_.instructions[k]) {
      for (; next < code.lines.size() && code.lines[next].first <= m.offset; ++next) op = code.lines[next].second;
      Json line{{"o", m.offset}, {"n", m.size}, {"t", m.text.substr(m.text.find_first_not_of(" \t"))}, {"op", op}};
      if (m.target >= 0) line["to"] = m.target;
      out.push_back(std::move(line));
    }
    return out;
  }

  Json blocks(std::size_t k) const {
    Json out = Json::array();
    for (const CpuThroughput& cpu : innerLoopThroughput(g_.codes[k], g_.instructions[k], tools_)) {
      Json one{{"cpu", cpu.cpu}, {"problem", cpu.problem}, {"blocks", Json::array()}};
      for (const BlockThroughput& b : cpu.blocks) {
        Json busy = Json::array();
        for (std::size_t i = 0; i < std::min<std::size_t>(b.busy.size(), 4); ++i)
          busy.push_back({b.busy[i].first, b.busy[i].second});
        one["blocks"].push_back({{"b", b.block.begin},
                                 {"e", b.block.end},
                                 {"i", b.instructions},
                                 {"u", b.microOps},
                                 {"c", b.cycles},
                                 {"m", b.bound},
                                 {"busy", std::move(busy)}});
      }
      out.push_back(std::move(one));
    }
    return out;
  }

  static constexpr std::size_t kDrawnAxes = 5, kColours = 6;

  const ExplainedPass& g_;
  const PassStages& s_;
  const BinaryTools& tools_;
  const OfConvolution* const convolution_ = std::get_if<OfConvolution>(&s_.origin);  ///< null: of a kernel's text
};

void replace(std::string& text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), with);
}

}  // namespace

Result<std::string> kernelPage(const ExplainedPass& pass, const BinaryTools& tools) {
  std::string data = PageData(pass, tools).run().dump(-1, ' ', true, Json::error_handler_t::replace);
  // Inside a script element only an end tag could end the data.
  for (std::size_t at = data.find("</"); at != std::string::npos; at = data.find("</", at)) data.replace(at, 2, "<\\/");
  std::string page = kPageHtml;
  replace(page, "{{title}}", dumpName(pass.stages));
  const bool isKernel = std::holds_alternative<OfKernelText>(pass.stages.origin);
  replace(page, "{{style}}", std::string(kPageStyle) + (isKernel ? kPageKernelStyle : ""));
  replace(page, "{{script}}", std::string(kPageScript) + (isKernel ? kPageKernel : kPageConvolution) + kPagePictures);
  replace(page, "{{data}}", data);
  return page;
}

}  // namespace cubejit
