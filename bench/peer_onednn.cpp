// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how oneDNN is measured: one line of bench/shapes/*.jsonl on standard input gives one JSON line per pass and
// layout on standard output. Weights are always in the layout oneDNN likes best and their conversion is not counted, nor
// is that of activations in layout "any": its numbers are upper bounds.
// Leaves pinning and interleaving to compare_peers.py.
#include <iostream>
#include <tuple>
#include <vector>

#include "bench/onednn_memory.h"
#include "bench/peer_problem.h"
#include "bench/peer_program.h"

namespace {

using cubejit::bench::Axes;
using cubejit::bench::filled;
using cubejit::bench::PeerProblem;
using cubejit::bench::primitiveOf;
using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

memory::dims spatial(const PeerProblem& p, const Axes& axes, std::int64_t minus = 0) {
  memory::dims dims;
  for (int axis = 3 - p.rank; axis < 3; ++axis) dims.push_back(axes[static_cast<std::size_t>(axis)] - minus);
  return dims;
}

memory::dims tensor(const PeerProblem& p, memory::dims head, const Axes& axes) {
  for (std::int64_t extent : spatial(p, axes)) head.push_back(extent);
  return head;
}

memory::format_tag activationTag(const PeerProblem& p, const std::string& layout) {
  using Tag = memory::format_tag;
  if (layout == "any") return Tag::any;
  const bool plain = layout == "ncdhw";
  if (p.rank == 1) return plain ? Tag::ncw : Tag::nwc;
  if (p.rank == 2) return plain ? Tag::nchw : Tag::nhwc;
  return plain ? Tag::ncdhw : Tag::ndhwc;
}

struct Descriptors {
  memory::desc x, w, b, y;
  memory::dims stride, dilation, padBefore, padAfter;

  Descriptors(const PeerProblem& p, const std::string& layout, memory::data_type type) {
    const auto tag = activationTag(p, layout);
    x = {tensor(p, {p.batch, p.cin}, p.in), type, tag};
    y = {tensor(p, {p.batch, p.cout}, p.out), type, tag};
    const memory::dims head =
        p.groups == 1 ? memory::dims{p.cout, p.cin} : memory::dims{p.groups, p.cout / p.groups, p.cin / p.groups};
    w = {tensor(p, head, p.kernel), type, memory::format_tag::any};
    b = {{p.cout}, type, memory::format_tag::a};
    stride = spatial(p, p.stride);
    dilation = spatial(p, p.dilation, 1);  // oneDNN counts the gaps
    padBefore = spatial(p, p.padBefore);
    padAfter = spatial(p, p.padAfter);
  }
};

struct Prepared {
  dnnl::primitive primitive;
  Arguments arguments;
  std::string implementation;
};

Prepared prepare(const PeerProblem& p, const std::string& pass, const std::string& layout, memory::data_type type,
                 const dnnl::engine& engine, dnnl::stream& stream) {
  const Descriptors d(p, layout, type);
  const auto direct = dnnl::algorithm::convolution_direct;
  const auto window = std::make_tuple(d.stride, d.dilation, d.padBefore, d.padAfter);
  const auto forward = primitiveOf<dnnl::convolution_forward>(
      engine, std::tuple_cat(std::make_tuple(dnnl::prop_kind::forward_training, direct, d.x, d.w, d.y), window));
  if (pass == "y") {
    return {dnnl::convolution_forward(forward),
            {{DNNL_ARG_SRC, filled(forward.src_desc(), engine, stream)},
             {DNNL_ARG_WEIGHTS, filled(forward.weights_desc(), engine, stream)},
             {DNNL_ARG_DST, memory(forward.dst_desc(), engine)}},
            forward.impl_info_str()};
  }
  if (pass == "dx") {
    const auto pd = primitiveOf<dnnl::convolution_backward_data>(
        engine, std::tuple_cat(std::make_tuple(direct, d.x, d.w, d.y), window), forward);
    return {dnnl::convolution_backward_data(pd),
            {{DNNL_ARG_DIFF_DST, filled(pd.diff_dst_desc(), engine, stream)},
             {DNNL_ARG_WEIGHTS, filled(pd.weights_desc(), engine, stream)},
             {DNNL_ARG_DIFF_SRC, memory(pd.diff_src_desc(), engine)}},
            pd.impl_info_str()};
  }
  using Weights = dnnl::convolution_backward_weights;
  const bool bias = pass == "dw+db";
  const auto pd =
      bias ? primitiveOf<Weights>(engine, std::tuple_cat(std::make_tuple(direct, d.x, d.w, d.b, d.y), window), forward)
           : primitiveOf<Weights>(engine, std::tuple_cat(std::make_tuple(direct, d.x, d.w, d.y), window), forward);
  Prepared prepared{Weights(pd),
                    {{DNNL_ARG_DIFF_DST, filled(pd.diff_dst_desc(), engine, stream)},
                     {DNNL_ARG_SRC, filled(pd.src_desc(), engine, stream)},
                     {DNNL_ARG_DIFF_WEIGHTS, memory(pd.diff_weights_desc(), engine)}},
                    pd.impl_info_str()};
  if (bias) prepared.arguments.emplace(DNNL_ARG_DIFF_BIAS, memory(pd.diff_bias_desc(), engine));
  return prepared;
}

nlohmann::json measure(const PeerProblem& p, const std::string& pass, const std::string& layout, memory::data_type type,
                       double milliseconds, const dnnl::engine& engine, dnnl::stream& stream) {
  const auto* version = dnnl::version();
  nlohmann::json line{{"schema", "cubejit-peer/1"}, {"name", p.name}, {"pass", pass}, {"layout", layout}};
  line["peer"] = "onednn " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                 std::to_string(version->patch);
  try {
    const Prepared prepared = prepare(p, pass, layout, type, engine, stream);
    line["implementation"] = prepared.implementation;
    const auto call = [&] { prepared.primitive.execute(stream, prepared.arguments), stream.wait(); };
    line.update(cubejit::bench::measured(call, flopsOf(p), milliseconds));
  } catch (const dnnl::error& error) {
    line["error"] = error.what();
  }
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  const cubejit::bench::PeerSettings settings(argc, argv);
  const memory::data_type type = cubejit::bench::typeOf(settings.dtype);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  for (std::string text; std::getline(std::cin, text);) {
    const PeerProblem problem = cubejit::bench::parsePeerProblem(text);
    for (const auto& pass : settings.passes) {
      for (const auto& layout : settings.layouts) {
        std::cout << measure(problem, pass, layout, type, settings.milliseconds, engine, stream) << std::endl;
      }
    }
  }
}
