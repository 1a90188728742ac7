// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how products of matrices are measured in oneDNN (layouts "plain", and "any", where B is in the layout it likes best and its conversion
// is not counted) and OpenBLAS (layout "sgemm", a call for each matrix of a batch): one of compare_kernels.py's problems a line in, one JSON
// line a layout out. Leaves interleaving to compare_kernels.py, and pinning where threads are OpenMP's.
#include <sched.h>

#include <filesystem>
#include <iostream>
#include <thread>
#include <tuple>
#ifdef CUBEJIT_OPENBLAS
#include <cblas.h>
#endif

#include "bench/onednn_memory.h"
#include "bench/peer_program.h"

namespace {

using cubejit::bench::filled;
using dnnl::memory;

struct Product {
  std::string name, input, output;  // input, output: types of elements
  std::int64_t batch, m, n, k;
  bool turnedA, turnedB;
  double flops;

  explicit Product(const nlohmann::json& json)
      : name(json.at("name")),
        input(json.at("input")),
        output(json.at("output")),
        batch(json.at("batch")),
        m(json.at("m")),
        n(json.at("n")),
        k(json.at("k")),
        turnedA(json.at("turned_a")),
        turnedB(json.at("turned_b")),
        flops(json.at("flops")) {}

  memory::desc matrix(std::int64_t rows, std::int64_t columns, const std::string& type, bool turned) const {
    using Tag = memory::format_tag;
    const auto of = cubejit::bench::typeOf(type);
    if (batch == 1) return {{rows, columns}, of, turned ? Tag::ba : Tag::ab};
    return {{batch, rows, columns}, of, turned ? Tag::acb : Tag::abc};
  }
};

nlohmann::json onednn(const Product& p, bool any, double milliseconds) {
  const auto* version = dnnl::version();
  nlohmann::json line{{"peer", "onednn " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                                   std::to_string(version->patch)}};
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const memory::desc a = p.matrix(p.m, p.k, p.input, p.turnedA), c = p.matrix(p.m, p.n, p.output, false);
    memory::desc b = p.matrix(p.k, p.n, p.input, p.turnedB);
    if (any) b = {cubejit::bench::dimsOf(b), cubejit::bench::typeOf(p.input), memory::format_tag::any};
    const auto pd = cubejit::bench::primitiveOf<dnnl::matmul>(engine, std::make_tuple(a, b, c));
    const dnnl::matmul matmul(pd);
    const std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, filled(a, engine, stream)},
                                                    {DNNL_ARG_WEIGHTS, filled(pd.weights_desc(), engine, stream)},
                                                    {DNNL_ARG_DST, memory(c, engine)}};
    line["implementation"] = pd.impl_info_str();
    const auto call = [&] { matmul.execute(stream, arguments), stream.wait(); };
    line.update(cubejit::bench::measured(call, p.flops, milliseconds));
  } catch (const dnnl::error& error) {
    line["error"] = error.what();
  }
  return line;
}

#ifdef CUBEJIT_OPENBLAS
/// Its threads on a CPU each, as it has started them when it was loaded: the pthread variant does not ask OpenMP's variables.
void pinThreads() {
  unsigned cpu = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu++ % std::thread::hardware_concurrency(), &one);
    sched_setaffinity(std::stoi(task.path().filename()), sizeof(one), &one);
  }
}

std::vector<float> numbers(std::int64_t count) {
  std::minstd_rand random(7);
  std::vector<float> filled(static_cast<std::size_t>(count));
  for (float& number : filled) number = static_cast<float>(static_cast<int>(random() % 17) - 8) / 8.0F;
  return filled;
}

nlohmann::json openblas(const Product& p, double milliseconds) {
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 ..."
  nlohmann::json line{
      {"peer", "openblas " + config.substr(9, config.find(' ', 9) - 9) + " (" + openblas_get_corename() + ")"}};
  if (p.input != "f32" || p.output != "f32") {
    line["error"] = "has f32 alone";
    return line;
  }
  const std::vector<float> a = numbers(p.batch * p.m * p.k), b = numbers(p.batch * p.k * p.n);
  std::vector<float> c(static_cast<std::size_t>(p.batch * p.m * p.n));
  const auto blas = [](std::int64_t number) { return static_cast<blasint>(number); };
  const auto call = [&] {
    for (std::int64_t i = 0; i < p.batch; ++i) {
      cblas_sgemm(CblasRowMajor, p.turnedA ? CblasTrans : CblasNoTrans, p.turnedB ? CblasTrans : CblasNoTrans,
                  blas(p.m), blas(p.n), blas(p.k), 1.0F, a.data() + i * p.m * p.k, blas(p.turnedA ? p.m : p.k),
                  b.data() + i * p.k * p.n, blas(p.turnedB ? p.k : p.n), 0.0F, c.data() + i * p.m * p.n, blas(p.n));
    }
  };
  line.update(cubejit::bench::measured(call, p.flops, milliseconds));
  return line;
}
#else
void pinThreads() {}

nlohmann::json openblas(const Product&, double) { return {{"peer", "openblas"}, {"error", "built without it"}}; }
#endif

}  // namespace

int main(int argc, char** argv) {
  const cubejit::bench::PeerSettings settings(argc, argv);
  if (settings.layouts == std::vector<std::string>{"sgemm"}) pinThreads();
  for (std::string text; std::getline(std::cin, text);) {
    const Product product(nlohmann::json::parse(text));
    for (const std::string& layout : settings.layouts) {
      nlohmann::json line = layout == "sgemm" ? openblas(product, settings.milliseconds)
                                              : onednn(product, layout == "any", settings.milliseconds);
      line.update({{"schema", "cubejit-peer/1"}, {"name", product.name}, {"pass", "y"}, {"layout", layout}});
      std::cout << line << std::endl;
    }
  }
}
