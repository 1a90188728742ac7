// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides file by file; leaves the page to dump/page, the C header to codegen/aot, and what describes the folder, and commands, to dump/meta.
#include "runtime/dump/files.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "codegen/aot/c_header.h"
#include "codegen/aot/tables.h"
#include "codegen/tile/print.h"
#include "codegen/vector/print.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/index_map.h"
#include "runtime/dump/chip.h"
#include "runtime/dump/meta.h"
#include "runtime/dump/page.h"
#include "runtime/dump/throughput_text.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_problem.h"
#include "tiling/coordinates.h"

namespace cubejit {
namespace {

std::string bytesText(const std::vector<std::byte>& bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool needsTools(DumpStage stage) {
  return stage == DumpStage::kAsm || stage == DumpStage::kObject || stage == DumpStage::kThroughput ||
         stage == DumpStage::kPage;
}
bool isIr(DumpStage stage) { return stage == DumpStage::kIr || stage == DumpStage::kIrOptimised; }

template <class T>
std::vector<std::byte> bytesOf(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Type, layout, and the axes in the order of memory, the fastest last.
std::string shapeText(const Problem& problem, TensorId tensor) {
  const TensorFormat format = formatOf(problem, tensor);
  const TensorAxes axes = axesOf(problem, tensor);
  const IndexMap map = indexMap(problem, tensor);
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return map.digits[x][0].stride > map.digits[y][0].stride; });
  const bool blocked = format.layout != Layout::kNcdhw && format.layout != Layout::kNdhwc;
  std::string text = toString(format.dtype) + std::string(" ");
  if (blocked) text += toString(format.layout) + std::string(" of ");
  for (const std::size_t a : order)
    text += "[" + std::string(axes.names[a]) + " " + std::to_string(axes.extent[a]) + "]";
  if (format.strided()) text += " with the strides it was generated for";
  return text;
}

std::string listOf(const std::vector<lang::Tensor::Dimension>& dimensions, std::int64_t lang::Tensor::Dimension::* of) {
  std::string text;
  for (const lang::Tensor::Dimension& d : dimensions) text += (text.empty() ? "" : ", ") + std::to_string(d.*of);
  return "[" + text + "]";
}

CTensor cTensor(const OfConvolution& c, const Buffer& buffer) {
  const TensorId tensor = *tensorNamed(buffer.name);
  return {byteSize(formatOf(c.problem, tensor).dtype) == 2 ? "uint16_t" : "float", shapeText(c.problem, tensor)};
}

CTensor cTensor(const OfKernelText& k, const Buffer& buffer) {
  const auto& all = k.source.tensors;
  const auto t = std::find_if(all.begin(), all.end(), [&](const lang::Tensor& one) { return one.name == buffer.name; });
  return {elementBytes(t->element) == 2 ? "uint16_t" : "float",
          toString(t->element) + std::string(" ") + listOf(t->dimensions, &lang::Tensor::Dimension::extent) +
              ", strides " + listOf(t->dimensions, &lang::Tensor::Dimension::stride)};
}

std::vector<CTensor> cTensors(const ProgramOrigin& origin, const TileProgram& program) {
  std::vector<CTensor> out;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.isCallers()) out.push_back(std::visit([&](const auto& of) { return cTensor(of, buffer); }, origin));
  }
  return out;
}

class Files {
 public:
  Files(const ExplainedPass& pass, const FilesRequest& request)
      : g_(pass),
        s_(pass.stages),
        r_(request),
        prefix_(aotPrefix(request.prefix.empty() ? dumpName(pass.stages) : request.prefix)) {}

  Result<FolderFiles> run() {
    bool any = false;
    for (std::size_t k = 0; k < s_.vectors.size(); ++k) {
      if (!wanted(k)) continue;
      any = true;
      CUBEJIT_RETURN_IF_ERROR(kernel(k));
    }
    if (!any) return FolderFiles{};
    std::visit([&](const auto& of) { source(of); }, s_.origin);
    if (wants(DumpStage::kTile)) files_["tile.txt"] = print(s_.tile, Detail::kFull);
    if (wants(DumpStage::kTile) && s_.lowered) files_["tile.lowered.txt"] = print(*s_.lowered, Detail::kFull);
    if (s_.machine.isEmulated()) {
      files_["machine.json"] = machineToJson(s_.machine) + "\n";  // always, too
      if (wants(DumpStage::kPlan)) files_["core.txt"] = coreProgram(s_);
    }
    CUBEJIT_RETURN_IF_ERROR(aheadOfTime());
    if (wants(DumpStage::kPage)) {
      CUBEJIT_TRY(page, kernelPage(g_, *r_.tools));
      files_["index.html"] = page;
    }
    files_["repro.sh"] = reproScript(s_, r_);
    files_["meta.json"] = metaJson(s_, r_, files_);
    return std::move(files_);
  }

 private:
  bool wants(DumpStage stage) const { return contains(r_.stages, stage); }
  bool wanted(std::size_t k) const {
    if (r_.kernels.empty()) return true;
    const std::string name = kernelSymbol(s_, k);
    return fnmatch(("*" + r_.kernels + "*").c_str(), name.c_str(), 0) == 0;
  }

  // What makes the rest again is always there.
  void source(const OfConvolution& c) {
    if (wants(DumpStage::kProblem)) files_["problem.json"] = problemToJson(c.problem) + "\n";
    files_["plan.json"] = planToJson(c.plan) + "\n";
  }
  void source(const OfKernelText& k) {
    files_["kernel.tile"] = k.text;
    files_["parameters.json"] = parametersToJson(k.source) + "\n";
  }

  Status kernel(std::size_t k) {
    const std::string stem = kernelStem(s_, k);
    if (wants(DumpStage::kVector)) files_[stem + ".vector.txt"] = print(s_.vectors[k]);
    for (const bool optimised : {false, true}) {
      if (!wants(optimised ? DumpStage::kIrOptimised : DumpStage::kIr)) continue;
      CUBEJIT_TRY(text, r_.ir(s_.vectors[k], optimised));
      files_[stem + (optimised ? ".opt.ll" : ".ll")] = text;
    }
    if (wants(DumpStage::kAsm)) files_[stem + ".s"] = g_.listings[k].text;
    if (wants(DumpStage::kBytes)) files_[stem + ".bin"] = bytesText(s_.codes[k].bytes);
    if (wants(DumpStage::kThroughput)) {
      CUBEJIT_TRY(text, throughputText(g_.codes[k], g_.instructions[k], *r_.tools));
      files_[stem + ".mca.txt"] = text;
    }
    return Unit{};
  }

  // A backend that makes objects has its own, one a kernel, made again under the names that the header has for them.
  Status aheadOfTime() {
    const bool own = !s_.codes.empty() && s_.codes.front().format == CodeFormat::kElf;
    if (wants(DumpStage::kObject)) {
      ObjectInput input = aotObject(g_, prefix_);
      if (own) input.functions.clear();
      CUBEJIT_TRY(object, r_.tools->writeObject(input));
      files_[prefix_ + ".o"] = bytesText(object);
    }
    for (std::size_t k = 0; own && wants(DumpStage::kObject) && k < s_.vectors.size(); ++k) {
      VectorProgram named = s_.vectors[k];
      named.name = aotKernelSymbol(prefix_, k);
      CUBEJIT_TRY(code, r_.emit(named));
      files_[kernelStem(s_, k) + ".o"] = bytesText(code.bytes);
    }
    if (wants(DumpStage::kCHeader)) {
      const CHeaderInput input{
          s_.tile, cTensors(s_.origin, s_.tile), s_.machine.isa, prefix_, version(), {headerCommand(s_)}, own};
      files_[prefix_ + ".h"] = cHeader(input);
    }
    return Unit{};
  }

  const ExplainedPass& g_;
  const PassStages& s_;
  const FilesRequest& r_;
  const std::string prefix_;
  FolderFiles files_;
};

}  // namespace

bool needsComponent(DumpStage stage) { return needsTools(stage) || isIr(stage); }

ObjectInput aotObject(const ExplainedPass& pass, const std::string& prefix) {
  const PassStages& s = pass.stages;
  ObjectInput object{s.machine.isa, prefix, ".", {}, {}};
  for (std::size_t k = 0; k < s.codes.size(); ++k) {
    object.functions.push_back({aotKernelSymbol(prefix, k), s.codes[k].bytes, s.codes[k].frame, kernelStem(s, k) + ".s",
                                pass.listings[k].lines});
  }
  object.tables.push_back({prefix + "_tables", bytesOf(aotTables(s.tile).words)});
  for (const Buffer& buffer : s.tile.buffers) {
    if (buffer.use == Buffer::Use::kConstant)
      object.tables.push_back({aotConstantSymbol(prefix, buffer), bytesOf(buffer.values)});
  }
  return object;
}

Result<FolderFiles> dumpFiles(const PassStages& stages, const FilesRequest& request) {
  for (const DumpStage stage : request.stages) {
    if ((needsTools(stage) && request.tools == nullptr) || (isIr(stage) && !request.ir)) {
      return Error{ErrorCode::kUnsupported, Stage::kEmit,
                   "stage '" + dumpStageNames()[static_cast<std::size_t>(stage)] +
                       "' needs the LLVM component; without it there are problem, plan, tile, vector, bin, c-header\n" +
                       request.missing};
    }
  }
  const bool reads = std::any_of(request.stages.begin(), request.stages.end(), needsTools);
  CUBEJIT_TRY(explained, explain(stages, reads ? request.tools : nullptr));
  return Files(explained, request).run();
}

}  // namespace cubejit
