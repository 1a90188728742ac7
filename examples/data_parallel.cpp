// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data-parallel training's backward step: the batch is split over MPI ranks, every rank's dW and db are summed by
// MPI_Iallreduce while it computes dX, and the result is compared with that of one rank that has the whole batch.
//   mpirun -n 3 example_data_parallel
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"

namespace {

using cubejit::Executable;
using cubejit::PassMask;
using cubejit::Problem;

Problem layer(std::int64_t batch) {
  Problem p;
  p.rank = 2;
  p.batch = batch;
  p.cin = 32;
  p.cout = 64;
  p.in = p.out = {1, 28, 28};
  p.kernel = {1, 3, 3};
  p.padBefore = p.padAfter = {0, 1, 1};
  return p;
}

// Small integers: sums are exact in any order, so that results can be compared for equality however the batch was split.
std::vector<float> integers(std::int64_t count, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 30) - 1;
  }
  return values;
}

struct Workspace {
  explicit Workspace(std::size_t bytes) : data(std::aligned_alloc(64, (bytes + 127) / 64 * 64)), bytes(bytes) {}
  ~Workspace() { std::free(data); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* data;
  std::size_t bytes;
};

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

std::shared_ptr<const Executable> compile(cubejit::Session& session, const Problem& problem, PassMask mask) {
  const auto compiled = session.compile(problem, mask);
  if (!compiled.ok()) fail(compiled.error().message);
  return *compiled;
}

void run(const Executable& executable, const cubejit::Tensors& tensors) {
  const Workspace workspace(executable.workspaceBytes());
  const auto done = executable.run(tensors, workspace.data, workspace.bytes);
  if (!done.ok()) fail(done.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  constexpr std::int64_t kBatch = 8;
  const Problem whole = layer(kBatch);
  const std::vector<float> x = integers(xElements(whole), 1), dy = integers(yElements(whole), 2),
                           w = integers(wElements(whole), 3);
  // This rank's images: channels-last tensors are contiguous along the batch.
  const std::int64_t begin = kBatch * rank / ranks, mine = kBatch * (rank + 1) / ranks - begin;
  const std::int64_t xImage = xElements(layer(1)), yImage = yElements(layer(1));
  const float* const myX = x.data() + begin * xImage;
  const float* const myDy = dy.data() + begin * yImage;

  const auto environment = cubejit::optionsFromEnvironment();
  if (!environment.ok()) fail(environment.error().message);
  cubejit::Options options = *environment;
  options.threads = 1;  // ranks share this machine; elsewhere leave it out
  cubejit::Session session(options);

  // What has to travel first is computed first.
  std::vector<float> dw(static_cast<std::size_t>(wElements(whole))), db(static_cast<std::size_t>(bElements(whole)));
  std::vector<float> dx(static_cast<std::size_t>(mine * xImage));
  if (mine > 0) {
    const auto weights = compile(session, layer(mine), {false, true, true});
    run(*weights, {myDy, myX, nullptr, nullptr, dw.data(), db.data()});
  }
  MPI_Request requests[2];
  MPI_Iallreduce(MPI_IN_PLACE, dw.data(), static_cast<int>(dw.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                 &requests[0]);
  MPI_Iallreduce(MPI_IN_PLACE, db.data(), static_cast<int>(db.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                 &requests[1]);

  // Meanwhile dX, image by image, with a look at the messages in between: they only move while MPI is called.
  const auto data = compile(session, layer(1), {true, false, false});
  int doneEarly = 0;
  for (std::int64_t image = 0; image < mine; ++image) {
    run(*data, {myDy + image * yImage, nullptr, w.data(), dx.data() + image * xImage, nullptr, nullptr});
    MPI_Testall(2, requests, &doneEarly, MPI_STATUSES_IGNORE);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

  // One rank alone, for comparison.
  std::vector<float> dxAlone(x.size()), dwAlone(dw.size()), dbAlone(db.size());
  const auto alone = compile(session, whole, {true, true, true});
  run(*alone, {dy.data(), x.data(), w.data(), dxAlone.data(), dwAlone.data(), dbAlone.data()});
  int wrong = dw != dwAlone || db != dbAlone ||
              (mine > 0 && std::memcmp(dx.data(), dxAlone.data() + begin * xImage, dx.size() * sizeof(float)) != 0);
  std::printf("rank %d of %d: %lld images, sums %s before dX, %s\n", rank, ranks, static_cast<long long>(mine),
              doneEarly != 0 ? "arrived" : "did not arrive", wrong != 0 ? "WRONG" : "the same as one rank");
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}
