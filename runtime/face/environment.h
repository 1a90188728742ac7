// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the environment may say to the library. Leaves what follows from it to sessions and launchers. The ACL face, a
// library of its own, reads its two words, CUBEJIT_SOC and CUBEJIT_ACL_EMULATE, in api/acl/options.cpp.
#pragma once

#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/timeline.h"

namespace cubejit {

/// To launches of kernels, and to the tilings they are given.
struct LaunchEnvironment {
  std::string soc;      ///< CUBEJIT_SOC, a name of machineByName(); empty: no chip was named
  TimelineFiles files;  ///< CUBEJIT_LAUNCH_TRACE, CUBEJIT_LAUNCH_TIMELINE
  bool fast = false;    ///< CUBEJIT_LAUNCH_FAST
  bool strict = false;  ///< CUBEJIT_LAUNCH_STRICT
};

struct Environment {
  Options options;
  Diagnostics diagnostics;
  LaunchEnvironment launch;
};

/// A word of the environment: its name, and who hears its value; an error says what else there is.
struct EnvironmentVariable {
  const char* name;
  Status (*read)(const std::string& text, Environment& environment);
};

/// All of them. docs/howto/use_the_library.md says what they mean.
const std::vector<EnvironmentVariable>& environmentVariables();

/// What all of them say. Errors: a line for every variable with a value that it does not have, whoever would have heard it.
/// Ignored in processes that run with more rights than their caller.
Result<Environment> readEnvironment();

}  // namespace cubejit
