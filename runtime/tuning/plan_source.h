// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where the plan of a compilation comes from: a pin, a record of a tuning run, a search made now, or the cost model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/lab.h"
#include "runtime/tuning/record.h"

namespace cubejit {

struct SourcedPlan {
  std::optional<TilingPlan> plan;  ///< none: the planner is to choose
  PlanSource source = PlanSource::kModel;
  std::string note;  ///< what was found, or why a record is not used; for people
};

/// Looks in the options' pin file, user's store and system store; tunes if the options say so. Stores do not fail a
/// compilation: what cannot be read is noted. A pin file that cannot be read or added to does: a pin that is silently ignored
/// is none. Opens and closes files on every call, so that nothing is carried across fork().
Result<SourcedPlan> findPlan(const Problem& problem, Pass pass, const Machine& machine, const Options& options);

/// What somebody asks of a plan beyond that it is legal: every rule it breaks.
using PlanRules = std::function<std::vector<std::string>(const TilingPlan&)>;

/// The same, but nothing is chosen or pinned where nothing is kept, and of records the best that keeps the rules is taken. A pin
/// that breaks one is an error.
Result<SourcedPlan> findKeptPlan(const Problem& problem, Pass pass, const Machine& machine, const Options& options,
                                 const PlanRules& rules = {});

/// The key under which this compilation's records are kept. `machine` is the session's, whose ISA is the host's.
TuneKey tuneKeyOf(const Problem& problem, Pass pass, const Machine& machine, const Options& options);

/// What is tried under a key.
LabTask labTaskOf(const TuneKey& key, const Machine& machine, const Options& options);

/// Records say cycles of a chip's cost model; otherwise time on this host.
bool isModelled(const Machine& machine, const Options& options);

}  // namespace cubejit
