// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures conversions between layouts and types against copies of as many bytes, in turn, on the same threads of the same run:
// a table of GB/s (bytes read and written) and of ratios. Usage: pack_bandwidth [THREADS]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/index_map.h"

namespace {

using namespace cubejit;
using Clock = std::chrono::steady_clock;

struct Free {
  void operator()(char* p) const { std::free(p); }
};
using Memory = std::unique_ptr<char, Free>;

Memory memoryOf(std::size_t bytes) {
  Memory m(static_cast<char*>(std::aligned_alloc(64, bytes / 64 * 64 + 64)));
  std::memset(m.get(), 0, bytes);
  return m;
}

template <class Run>
double secondsOf(Run run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A copy on all threads, each its own part.
void copyAll(char* to, const char* from, std::size_t bytes, int threads) {
  std::vector<std::thread> team;
  const auto part = [&](int i) {
    const std::size_t begin = bytes / static_cast<std::size_t>(threads) * static_cast<std::size_t>(i) / 64 * 64;
    const std::size_t end = i + 1 == threads
                                ? bytes
                                : bytes / static_cast<std::size_t>(threads) * static_cast<std::size_t>(i + 1) / 64 * 64;
    std::memcpy(to + begin, from + begin, end - begin);
  };
  for (int i = 1; i < threads; ++i) team.emplace_back(part, i);
  part(0);
  for (std::thread& t : team) t.join();
}

void row(const Session& session, const Problem& problem, TensorId t, const TensorFormat& from, const TensorFormat& to,
         int threads) {
  Problem source = problem;
  source.formats[static_cast<std::size_t>(t)] = from;
  const auto repacking = session.repack(source, t, to);
  if (!repacking.ok()) {
    fmt::print(stderr, "{}\n", repacking.error().message);
    return;
  }
  const std::size_t in = (*repacking)->sourceBytes(), out = (*repacking)->targetBytes();
  const Memory a = memoryOf(in), b = memoryOf(out);
  // As many bytes in and out as the conversion moves.
  const std::size_t copied = (in + out) / 2;
  const Memory c = memoryOf(copied), d = memoryOf(copied);
  double convert = 1e9, copy = 1e9;
  for (int round = 0; round < 15; ++round) {
    convert = std::min(convert, secondsOf([&] { static_cast<void>((*repacking)->run(a.get(), b.get(), threads)); }));
    copy = std::min(copy, secondsOf([&] { copyAll(d.get(), c.get(), copied, threads); }));
  }
  const auto bytes = static_cast<double>(in + out);
  fmt::print("| {} | {} {} | {} {} | {:.1f} | {:.1f} | {:.1f} | {:.2f} |\n", toString(t), toString(from.dtype),
             toString(from.layout), toString(to.dtype), toString(to.layout), bytes * 1e-6, bytes / convert * 1e-9,
             bytes / copy * 1e-9, copy / convert);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : defaultThreads();
  Options options;
  options.threads = threads;
  options.pinThreads = true;
  const Session session(options);
  Problem p;
  p.batch = 8;
  p.cin = p.cout = 128;
  p.in = p.out = {1, 56, 56};
  p.kernel = {1, 3, 3};
  p.padBefore = p.padAfter = {0, 1, 1};
  fmt::print("| tensor | from | to | MB | convert GB/s | copy GB/s | ratio |\n|---|---|---|---:|---:|---:|---:|\n");
  const Layout layouts[] = {Layout::kNcdhw, Layout::kNdhwc, Layout::kNdc1hwc0};
  for (const auto& [fromType, toType] : {std::pair{DType::kF32, DType::kF32},
                                         {DType::kF16, DType::kF16},
                                         {DType::kBf16, DType::kBf16},
                                         {DType::kF32, DType::kBf16},
                                         {DType::kF16, DType::kF32}}) {
    for (const Layout from : layouts) {
      for (const Layout to : layouts) {
        if (from == to && fromType == toType) continue;
        row(session, p, TensorId::kX, {fromType, from, {}}, {toType, to, {}}, threads);
      }
    }
  }
  for (const DType type : {DType::kF32, DType::kF16}) {
    p.cin = p.cout = 512;
    row(session, p, TensorId::kW, {type, Layout::kNcdhw, {}}, {type, Layout::kFractalZ3d, {}}, threads);
    row(session, p, TensorId::kW, {type, Layout::kFractalZ3d, {}}, {type, Layout::kNcdhw, {}}, threads);
  }
}
