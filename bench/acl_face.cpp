// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures what the ACL face costs: for every row of a suite, phase 1 on a shape seen before, and calls of both phases queued on one
// stream against as many runs of the library's own executable on the same memory, in turn. Usage: acl_face SUITE.jsonl [FILTER]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "bench/peer_problem.h"
#include "cubejit/cubejit.hpp"

namespace {

using namespace cubejit;
using Clock = std::chrono::steady_clock;

double secondsOf(const auto& run) {
  const auto start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Memory {
  explicit Memory(std::size_t bytes) : data(std::aligned_alloc(64, bytes / 64 * 64 + 64)) {
    std::memset(data, 0, bytes);
  }
  ~Memory() { std::free(data); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* data;
};

// The last `rank` values of three.
std::vector<std::int64_t> tail(const bench::Axes& axes, int rank) { return {axes.end() - rank, axes.end()}; }

std::vector<std::int64_t> shapeOf(std::int64_t n, std::int64_t c, const bench::Axes& space, int rank) {
  std::vector<std::int64_t> shape{n, c};
  for (const std::int64_t extent : tail(space, rank)) shape.push_back(extent);
  return shape;
}

Dhw dhw(const bench::Axes& a) { return {a[0], a[1], a[2]}; }

Problem problemOf(const bench::PeerProblem& r) {
  Problem p;
  p.rank = r.rank, p.batch = r.batch, p.cin = r.cin, p.cout = r.cout, p.groups = r.groups;
  p.in = dhw(r.in), p.out = dhw(r.out), p.kernel = dhw(r.kernel), p.stride = dhw(r.stride);
  p.dilation = dhw(r.dilation), p.padBefore = dhw(r.padBefore), p.padAfter = dhw(r.padAfter);
  p.layout = Layout::kNcdhw;
  return p;
}

// The C arguments of a row; they live as long as the program.
struct Call {
  Call(const bench::PeerProblem& r, const Tensors& t) {
    const int rank = r.rank;
    const auto tensor = [&](const std::vector<std::int64_t>& shape, const void* data) {
      const aclFormat format = rank == 1 ? ACL_FORMAT_NCL : rank == 2 ? ACL_FORMAT_NCHW : ACL_FORMAT_NCDHW;
      return aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0, format, shape.data(), shape.size(),
                             const_cast<void*>(data));
    };
    const auto ints = [](const std::vector<std::int64_t>& v) { return aclCreateIntArray(v.data(), v.size()); };
    const auto x = shapeOf(r.batch, r.cin, r.in, rank), w = shapeOf(r.cout, r.cin / r.groups, r.kernel, rank),
               y = shapeOf(r.batch, r.cout, r.out, rank);
    tensors[0] = tensor(y, t.dy), tensors[1] = tensor(x, t.x), tensors[2] = tensor(w, t.w);
    tensors[3] = tensor(x, t.dx), tensors[4] = tensor(w, t.dw);
    stride = ints(tail(r.stride, rank)), dilation = ints(tail(r.dilation, rank));
    padding = ints(r.padBefore == r.padAfter
                       ? tail(r.padBefore, rank)
                       : std::vector<std::int64_t>{r.padBefore[1], r.padAfter[1], r.padBefore[2], r.padAfter[2]});
    outputPadding = ints(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 0));
    const bool wanted[] = {true, true, false};
    mask = aclCreateBoolArray(wanted, 3);
    groups = static_cast<int>(r.groups);
  }
  bool phaseOne() {
    return aclnnConvolutionBackwardGetWorkspaceSize(tensors[0], tensors[1], tensors[2], nullptr, stride, padding,
                                                    dilation, false, outputPadding, groups, mask, 0, tensors[3],
                                                    tensors[4], nullptr, &bytes, &executor) == ACLNN_SUCCESS;
  }
  aclTensor* tensors[5] = {};
  aclIntArray *stride, *padding, *dilation, *outputPadding;
  aclBoolArray* mask;
  int groups = 1;
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
};

struct Row {
  double library = 0, face = 0, phaseOne = 0;  // seconds
};

bool measure(const bench::PeerProblem& r, Session& session, aclrtStream stream, Row& row) {
  const Problem p = problemOf(r);
  const auto compiled = session.compile(p, {true, true, false});
  if (!compiled.ok()) return fmt::print(stderr, "{}: {}\n", r.name, compiled.error().message), false;
  const auto bytes = [](std::int64_t elements) { return static_cast<std::size_t>(elements) * 4; };
  const Memory dy(bytes(yElements(p))), x(bytes(xElements(p))), w(bytes(wElements(p))), dx(bytes(xElements(p))),
      dw(bytes(wElements(p))), workspace((*compiled)->workspaceBytes());
  const Tensors tensors{dy.data, x.data, w.data, dx.data, dw.data, nullptr};
  Call call(r, tensors);
  if (!call.phaseOne()) return fmt::print(stderr, "{}: {}\n", r.name, aclGetRecentErrMsg()), false;
  aclDestroyAclOpExecutor(call.executor);
  const Memory room(call.bytes);
  bool well = true;
  std::vector<double> first;
  for (int i = 0; i < 301; ++i) {
    first.push_back(secondsOf([&] { well = call.phaseOne() && well; }));
    aclDestroyAclOpExecutor(call.executor);
  }
  std::nth_element(first.begin(), first.begin() + 150, first.end());
  row.phaseOne = first[150];

  const auto library = [&](int calls) {
    return secondsOf([&] {
             for (int i = 0; i < calls; ++i)
               well = (*compiled)->run(tensors, workspace.data, (*compiled)->workspaceBytes()).ok() && well;
           }) /
           calls;
  };
  const auto face = [&](int calls) {
    return secondsOf([&] {
             for (int i = 0; i < calls; ++i) {
               well = call.phaseOne() && well;
               well = aclnnConvolutionBackward(room.data, call.bytes, call.executor, stream) == ACLNN_SUCCESS && well;
             }
             well = aclrtSynchronizeStream(stream) == ACL_SUCCESS && well;
           }) /
           calls;
  };
  // Enough calls that waking the stream's thread, which a program does once for all it queues, does not count.
  const int calls = std::clamp(static_cast<int>(0.010 / std::max(1e-7, library(1))), 1, 2000);
  row.library = row.face = 1e9;
  for (int turn = 0; turn < 12; ++turn) {
    row.library = std::min(row.library, library(calls));
    row.face = std::min(row.face, face(calls));
  }
  return well;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "usage: acl_face SUITE.jsonl [FILTER]\n"), 2;
  const auto options = optionsFromEnvironment();
  if (!options.ok()) return fmt::print(stderr, "{}\n", options.error().message), 2;
  Session session(*options);
  aclrtStream stream = nullptr;
  if (aclrtCreateStream(&stream) != ACL_SUCCESS) return 1;
  std::ifstream suite(argv[1]);
  std::string line;
  double logs = 0, worst = 0, slowest = 0;
  int rows = 0;
  fmt::print("{:<24} {:>12} {:>12} {:>7} {:>11}\n", "row", "library us", "face us", "ratio", "phase 1 us");
  while (std::getline(suite, line)) {
    if (line.empty()) continue;
    const bench::PeerProblem r = bench::parsePeerProblem(line);
    if (argc > 2 && r.name.find(argv[2]) == std::string::npos) continue;
    if (r.padBefore != r.padAfter && r.rank != 2) continue;  // the C arguments cannot say it
    Row row;
    if (!measure(r, session, stream, row)) return 1;
    const double ratio = row.face / row.library;
    fmt::print("{:<24} {:>12.1f} {:>12.1f} {:>7.3f} {:>11.2f}\n", r.name, row.library * 1e6, row.face * 1e6, ratio,
               row.phaseOne * 1e6);
    logs += std::log(ratio), ++rows;
    worst = std::max(worst, ratio), slowest = std::max(slowest, row.phaseOne);
  }
  aclrtDestroyStream(stream);
  if (rows == 0) return fmt::print(stderr, "no rows\n"), 2;
  fmt::print("{} rows: geometric mean {:.3f}, worst {:.3f}; slowest phase 1 {:.2f} us\n", rows, std::exp(logs / rows),
             worst, slowest * 1e6);
  return 0;
}
