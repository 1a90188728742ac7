// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes one digest a line for everything that is generated: cubejit_digest RANDOM_PROBLEMS SUITE... > LIST
#include "tools/digest/digest.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "runtime/text/json_problem.h"

int main(int argc, char** argv) {
  using namespace cubejit;
  const int randomProblems = argc > 1 ? std::atoi(argv[1]) : -1;
  if (argc < 3 || randomProblems < 0)
    return std::fprintf(stderr, "usage: cubejit_digest RANDOM_PROBLEMS SUITE...\n"), 2;
  std::vector<Problem> suite;
  for (int i = 2; i < argc; ++i) {
    const auto problems = readSuite(argv[i]);
    if (!problems.ok()) return std::fprintf(stderr, "%s\n", problems.error().message.c_str()), 2;
    suite.insert(suite.end(), problems->begin(), problems->end());
  }
  std::vector<digest::Job> jobs;
  digest::addHostJobs(suite, randomProblems, jobs);
  digest::addNpuJobs(suite, randomProblems / 20, jobs);
  std::vector<std::vector<digest::Line>> lines(jobs.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> team;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    team.emplace_back([&] {
      for (std::size_t job = next++; job < jobs.size(); job = next++) lines[job] = jobs[job]();
    });
  }
  for (std::thread& thread : team) thread.join();
  for (const auto& of : lines) {
    for (const digest::Line& line : of) std::puts(line.c_str());
  }
}
