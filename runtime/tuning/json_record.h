// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the JSON forms of tuning records (one object a line when exchanged), pins, and of what a store keeps in its columns.
#pragma once

#include <string>
#include <vector>

#include "cubejit/result.h"
#include "runtime/tuning/record.h"

namespace cubejit {

/// Every described field of the problem, without its name: two problems are the same if their identities are.
std::string problemIdentity(const Problem& problem);
Result<Problem> problemFromIdentity(const std::string& text);

/// The plan without what follows from the rest (single shape): two plans are the same if their identities are.
std::string planIdentity(const TilingPlan& plan);

/// No time or cost of a record is as large.
constexpr double kMostNumber = 1e18;

/// Schema cubejit.record/1. Times are whole nanoseconds. Reading refuses unknown keys, other schemas and values out of range,
/// but does not check plans: whoever uses one calls checkPlan.
std::string recordToJson(const TuneRecord& record);
Result<TuneRecord> recordFromJson(const std::string& text);

std::string samplesToJson(const std::vector<std::int64_t>& samples);
Result<std::vector<std::int64_t>> samplesFromJson(const std::string& text);
std::string costToJson(const PlanCost& cost);
Result<PlanCost> costFromJson(const std::string& text);

/// Schema cubejit.pin/1: a problem, its pass and the plan it is to be computed with.
struct Pin {
  Problem problem;
  TilingPlan plan;  ///< says which pass
  std::string isa;  ///< plans are made for one ISA level
};
std::string pinToJson(const Pin& pin);
Result<Pin> pinFromJson(const std::string& text);

}  // namespace cubejit
