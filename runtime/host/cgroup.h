// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how much CPU time the control groups of the process allow, versions 1 and 2, as the number of CPUs it is worth.
#pragma once

#include <string>

namespace cubejit {

/// The tightest quota of the groups and their ancestors; 0 if none limits. `membership` is the text of /proc/self/cgroup,
/// `mount` where the hierarchies are mounted (/sys/fs/cgroup).
double cgroupCpus(const std::string& membership, const std::string& mount);

}  // namespace cubejit
