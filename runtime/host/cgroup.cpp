// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the quota files are and how they read. Inside a container the process' own path may not be visible; then
// the root of the mount is the container's group.
#include "runtime/host/cgroup.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cubejit {
namespace {

// CPUs a folder allows, or 0.
double quotaOf(const std::string& folder) {
  double quota = 0, period = 0;
  std::string first;
  std::ifstream v2(folder + "/cpu.max");
  if (v2 >> first >> period && first != "max" && period > 0) return std::strtod(first.c_str(), nullptr) / period;
  std::ifstream v1(folder + "/cpu.cfs_quota_us"), v1Period(folder + "/cpu.cfs_period_us");
  if (v1 >> quota && v1Period >> period && quota > 0 && period > 0) return quota / period;
  return 0;
}

// The tightest of `path` and its ancestors below `root`.
double tightest(const std::string& root, std::string path) {
  double cpus = 0;
  while (true) {
    const double here = quotaOf(root + (path == "/" ? "" : path));
    if (here > 0 && (cpus == 0 || here < cpus)) cpus = here;
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return cpus;
    path.resize(slash);
  }
}

bool lists(const std::string& controllers, const std::string& wanted) {
  return ("," + controllers + ",").find("," + wanted + ",") != std::string::npos;
}

}  // namespace

double cgroupCpus(const std::string& membership, const std::string& mount) {
  double cpus = 0;
  std::istringstream lines(membership);
  lines.exceptions(std::ios::badbit);  // where memory ends
  for (std::string line; std::getline(lines, line);) {
    // hierarchy-number:controllers:path; version 2 has number 0 and no controllers.
    const std::size_t one = line.find(':'), two = one == std::string::npos ? one : line.find(':', one + 1);
    if (two == std::string::npos) continue;
    const std::string controllers = line.substr(one + 1, two - one - 1), path = line.substr(two + 1);
    if (!controllers.empty() && !lists(controllers, "cpu")) continue;
    for (const std::string& root : {mount + (controllers.empty() ? "" : "/" + controllers),
                                    mount + (controllers.empty() ? "/unified" : "/cpu")}) {
      const double here = tightest(root, path);
      if (here > 0 && (cpus == 0 || here < cpus)) cpus = here;
    }
  }
  return cpus;
}

}  // namespace cubejit
