// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "runtime/tuning/timed_runs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/host/file_descriptor.h"
#include "tiling/no_throw.h"

namespace cubejit {
namespace {

// A sample shorter than this is mostly timer and wake-up noise: short runs are repeated until one lasts that long.
constexpr std::int64_t kSampleNs = 300000;
constexpr std::int64_t kMostRepeats = 64;

class Turn {
 public:
  explicit Turn(const std::string& path) {
    if (!path.empty()) file_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    // Whoever keeps the lock for that long is not measuring.
    for (int wait = 0; file_ && wait < kMostWaits && flock(file_.get(), LOCK_EX | LOCK_NB) != 0; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

 private:
  static constexpr int kMostWaits = 5000;
  FileDescriptor file_;
};

}  // namespace

LabReply timeInTurn(const std::vector<TimedRun>& runs, int rounds, const std::string& turnFile) {
  std::int64_t longest = 1;
  for (const TimedRun& timed : runs) longest = std::max(longest, *timed.leastNs);
  const std::int64_t repeats = std::clamp<std::int64_t>(kSampleNs / longest, 1, kMostRepeats);
  LabReply reply;
  reply.samplesNs.resize(runs.size());
  const Turn turn(turnFile);
  for (int round = 0; round < rounds; ++round) {
    // Every other round goes backwards: what one leaves in the caches does not always meet the same other.
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const std::size_t i = round % 2 == 0 ? k : runs.size() - 1 - k;
      std::int64_t total = 0;
      for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
        const auto ns = runs[i].run();
        if (!ns.ok()) return refusalOf(ns.error());
        total += *ns;
        *runs[i].leastNs = std::min(*runs[i].leastNs, *ns);
      }
      reply.samplesNs[i].push_back(std::max<std::int64_t>(1, total / repeats));
    }
  }
  return reply;
}

LabReply refusalOf(const Error& error) {
  const bool resource = isOutOfMemory(error) || (error.code == ErrorCode::kLimitExceeded &&
                                                 (error.stage == Stage::kRun || error.stage == Stage::kLoad));
  return LabReply{resource ? TrialStatus::kFailed : TrialStatus::kRefused, error.message, {}, {}};
}

}  // namespace cubejit
