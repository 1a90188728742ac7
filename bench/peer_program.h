// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what peer programs in C++ share, as peer_program.py does for those in Python: their options, and how often a call is measured, by which
// clocks. Leaves the library that computes to peer_onednn.cpp and peer_matmul.cpp.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace cubejit::bench {

inline std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

struct PeerSettings {
  std::vector<std::string> passes{"dx", "dw", "dw+db"};
  std::vector<std::string> layouts{"any", "ndhwc", "ncdhw"};
  std::string dtype = "f32";
  double milliseconds = 150;

  PeerSettings(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
      const std::string option = argv[i];
      if (option == "--passes" || option == "--gradients") passes = split(argv[i + 1]);
      if (option == "--layouts") layouts = split(argv[i + 1]);
      if (option == "--dtype") dtype = argv[i + 1];
      if (option == "--milliseconds") milliseconds = std::stod(argv[i + 1]);
    }
  }
};

/// CPU time of all threads of the process.
inline double cpuNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// What a line says of at least 5 calls and `milliseconds` in all, after two to warm up.
template <class Call>
nlohmann::json measured(const Call& call, double flops, double milliseconds) {
  std::vector<double> wall, cpu;
  double total = 0;
  for (int run = -2; run < 5 || (total < milliseconds * 1e6 && run < 500); ++run) {
    const double busy = cpuNs();
    const auto begin = std::chrono::steady_clock::now();
    call();
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    const double cpuOfCall = cpuNs() - busy;
    if (run < 0) continue;
    wall.push_back(ns);
    cpu.push_back(cpuOfCall);
    total += ns;
  }
  std::sort(wall.begin(), wall.end());
  std::sort(cpu.begin(), cpu.end());
  const double median = wall[wall.size() / 2];
  return {{"ns_median", median},    {"ns_min", wall.front()}, {"cpu_ns_median", cpu[cpu.size() / 2]},
          {"samples", wall.size()}, {"flops", flops},         {"gflops", flops / median}};
}

}  // namespace cubejit::bench
