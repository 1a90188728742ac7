// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the messages between ranks. Nobody waits inside MPI: every rank looks for messages between trials, so that a rank
// that died is noticed by the others instead of being waited for.
#include "tune_mpi.h"

#include <fmt/core.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <fstream>
#include <list>
#include <set>
#include <thread>
#include <vector>

#include "runtime/tuning/json_record.h"

namespace cubejit::cli {

struct Peer {
  std::array<char, 64> host{};
  long pid = 0;
};

namespace {

using Clock = std::chrono::steady_clock;

enum Tag : int {
  kAsk = 1,
  kTask,
  kRecord
};  // worker wants work; rank 0 gives it (an index, or kNoMore); a record as JSON

constexpr int kNoMore = -1;
constexpr auto kLook = std::chrono::milliseconds(5);
// A rank of another host that is silent for so long counts as dead: longer than any trial may take.
constexpr double kSilentSeconds = 180;

// A process of this host that has ended, also if nobody has collected it yet.
bool hasEnded(long pid) {
  if (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return true;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name = text.rfind(')');
  return name != std::string::npos && name + 2 < text.size() && text[name + 2] == 'Z';
}

}  // namespace

struct MpiWorld::State {
  int rank = 0, size = 1;
  std::vector<Peer> peers;
  std::vector<Clock::time_point> heard;
  std::set<int> dead;
  struct Sending {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::list<Sending> sending;  ///< messages on their way; their bytes must stay

  void send(int to, Tag tag, std::string bytes) {
    sending.push_back({std::move(bytes), MPI_REQUEST_NULL});
    Sending& s = sending.back();
    MPI_Isend(s.bytes.data(), static_cast<int>(s.bytes.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD, &s.request);
    collect();
  }
  void collect() {
    for (auto s = sending.begin(); s != sending.end();) {
      int done = 0;
      MPI_Test(&s->request, &done, MPI_STATUS_IGNORE);
      s = done != 0 ? sending.erase(s) : std::next(s);
    }
  }
  // One message of the tag, if there is one.
  bool receive(Tag tag, int& from, std::string& bytes) {
    collect();
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return false;
    int count = 0;
    MPI_Get_count(&status, MPI_CHAR, &count);
    bytes.resize(static_cast<std::size_t>(count));
    MPI_Recv(bytes.data(), count, MPI_CHAR, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    from = status.MPI_SOURCE;
    heard[static_cast<std::size_t>(from)] = Clock::now();
    return true;
  }
  bool isDead(int other) {
    if (dead.count(other) != 0) return true;
    const Peer &peer = peers[static_cast<std::size_t>(other)], &self = peers[static_cast<std::size_t>(rank)];
    const double silent = std::chrono::duration<double>(Clock::now() - heard[static_cast<std::size_t>(other)]).count();
    const bool gone = peer.host == self.host ? hasEnded(peer.pid) : silent > kSilentSeconds;
    if (gone) dead.insert(other);
    return gone;
  }
};

MpiWorld::MpiWorld(std::unique_ptr<State> state) : state_(std::move(state)) {}
MpiWorld::~MpiWorld() = default;
int MpiWorld::rank() const { return state_->rank; }
int MpiWorld::size() const { return state_->size; }

Result<std::unique_ptr<MpiWorld>> MpiWorld::join() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                 "MPI does not start; run with mpirun -n N cubejit tune --mpi ..."};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  auto state = std::make_unique<State>();
  MPI_Comm_rank(MPI_COMM_WORLD, &state->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state->size);
  Peer self;
  gethostname(self.host.data(), self.host.size() - 1);
  self.pid = getpid();
  state->peers.resize(static_cast<std::size_t>(state->size));
  state->heard.assign(static_cast<std::size_t>(state->size), Clock::now());
  MPI_Allgather(&self, sizeof(Peer), MPI_BYTE, state->peers.data(), sizeof(Peer), MPI_BYTE, MPI_COMM_WORLD);
  return std::unique_ptr<MpiWorld>(new MpiWorld(std::move(state)));
}

int MpiWorld::share(int tasks, const std::function<void(int, int)>& tuneOne, TuneRun& run, RecordKeeper& keeper,
                    const std::function<bool()>& stop, const std::function<void(const std::string&)>& tell) {
  State& s = *state_;
  const auto count = static_cast<std::size_t>(s.size);
  if (s.rank > 0) {
    run.alsoKeep = [&](const TuneRecord& record) { s.send(0, kRecord, recordToJson(record)); };
    while (!stop()) {
      s.send(0, kAsk, "?");
      std::string answer;
      for (int from = 0; !s.receive(kTask, from, answer); std::this_thread::sleep_for(kLook)) {
        if (stop()) return 0;
        if (!s.isDead(0)) continue;
        tell("rank 0 is gone; this rank's records are in the store of its host");
        return 4;
      }
      int index = kNoMore, left = 1;
      std::sscanf(answer.c_str(), "%d %d", &index, &left);
      if (index == kNoMore) return 0;
      tuneOne(index, left);
    }
    return 0;
  }
  std::deque<int> open;
  for (int i = 0; i < tasks; ++i) open.push_back(i);
  std::vector<int> holds(count, kNoMore);
  std::vector<bool> finished(count, false);
  finished[0] = true;
  const auto serve = [&] {
    int from = 0;
    std::string bytes;
    while (s.receive(kRecord, from, bytes)) {
      const auto record = recordFromJson(bytes);
      if (record.ok()) keeper.keep(*record);
    }
    while (s.receive(kAsk, from, bytes)) {
      const auto worker = static_cast<std::size_t>(from);
      holds[worker] = open.empty() || stop() ? kNoMore : open.front();
      finished[worker] = holds[worker] == kNoMore;
      const int left = (static_cast<int>(open.size()) + s.size - 1) / s.size;  // each rank gets through about that many
      if (!finished[worker]) open.pop_front();
      s.send(from, kTask, fmt::format("{} {}", holds[worker], std::max(1, left)));
    }
    for (int other = 1; other < s.size; ++other) {
      const auto worker = static_cast<std::size_t>(other);
      if (finished[worker] || !s.isDead(other)) continue;
      finished[worker] = true;
      tell(fmt::format(
          "rank {} died; {}", other,
          holds[worker] == kNoMore ? "it held no task" : "its task is dealt out again, its records are kept"));
      if (holds[worker] != kNoMore) open.push_front(holds[worker]);
    }
  };
  run.alsoKeep = [&](const TuneRecord&) { serve(); };
  for (;;) {
    serve();
    if (stop()) break;
    if (!open.empty()) {
      const int index = open.front();
      open.pop_front();
      tuneOne(index, (static_cast<int>(open.size()) + s.size) / s.size);
    } else if (std::all_of(finished.begin(), finished.end(), [](bool done) { return done; })) {
      break;
    } else {
      std::this_thread::sleep_for(kLook);
    }
  }
  run.alsoKeep = nullptr;
  return 0;
}

void MpiWorld::leave(int code) {
  State& s = *state_;
  for (int other = 0; other < s.size; ++other) s.isDead(other);
  // Messages still on their way are given a moment: those of a run that was interrupted have no receiver any more.
  for (int look = 0; look < 200 && !s.sending.empty(); ++look) {
    s.collect();
    std::this_thread::sleep_for(kLook);
  }
  if (s.dead.empty() && s.sending.empty() && code != 130) {
    MPI_Finalize();
    return;
  }
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace cubejit::cli
