// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the spelling of questions and replies. Both ends are ours: what does not parse is one error, not a list.
#include "runtime/tuning/json_lab.h"

#include <climits>

#include "runtime/host/threads.h"
#include "runtime/text/json_machine.h"
#include "runtime/text/json_object.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/tuning/json_record.h"

namespace cubejit {
namespace {

constexpr const char* kKinds[] = {"open", "load", "verify", "sample", "drop"};

Error garbled(const std::string& text) {
  return Error{ErrorCode::kInternal, Stage::kRun,
               "the tuner and its worker do not understand each other: " + text.substr(0, 200)};
}

}  // namespace

std::string questionToJson(const LabQuestion& q) {
  Json json{{"ask", kKinds[static_cast<int>(q.kind)]}};
  using Kind = LabQuestion::Kind;
  if (q.kind == Kind::kOpen) {
    json["problem"] = Json::parse(problemIdentity(q.task.problem));
    json["name"] = q.task.problem.name;
    json["pass"] = toString(q.task.pass);
    json["isa"] = q.task.isa;
    json["backend"] = q.task.backend;
    json["threads"] = q.task.threads;
    json["llvm_component"] = q.task.llvmComponent;
    if (q.task.machine) json["machine"] = Json::parse(machineToJson(*q.task.machine));
    json["elide_copies"] = q.task.elideCopies;
    json["keep_bits"] = q.task.keepBits;
    json["turn_file"] = q.turnFile;
  } else {
    json["plans"] = q.numbers;
  }
  if (q.kind == Kind::kLoad) json["plan"] = Json::parse(planToJson(q.plan));
  if (q.kind == Kind::kSample) json["rounds"] = q.rounds;
  return oneLine(json);
}

Result<LabQuestion> questionFromJson(const std::string& text) {
  const Json json = parseJson(text);
  if (!json.is_object()) return garbled(text);
  LabQuestion q;
  const std::string kind = json.contains("ask") && json["ask"].is_string() ? json["ask"].get<std::string>() : "";
  int found = -1;
  for (int k = 0; k < 5; ++k) {
    if (kind == kKinds[k]) found = k;
  }
  if (found < 0) return garbled(text);
  q.kind = static_cast<LabQuestion::Kind>(found);
  try {
    if (q.kind == LabQuestion::Kind::kOpen) {
      CUBEJIT_TRY(problem, problemFromIdentity(oneLine(json.at("problem"))));
      q.task.problem = problem;
      q.task.problem.name = json.at("name").get<std::string>();
      q.task.pass = passNamed(json.at("pass").get<std::string>()).value_or(Pass::kDb);
      q.task.isa = json.at("isa").get<std::string>();
      q.task.backend = json.at("backend").get<std::string>();
      if (!isWholeWithin(json.at("threads"), 0, kMostThreads)) return garbled(text);
      q.task.threads = json.at("threads").get<int>();
      q.task.llvmComponent = json.at("llvm_component").get<std::string>();
      if (json.contains("machine")) {
        CUBEJIT_TRY(machine, machineFromJson(oneLine(json.at("machine"))));
        q.task.machine = machine;
      }
      q.task.elideCopies = json.at("elide_copies").get<bool>();
      q.task.keepBits = json.at("keep_bits").get<bool>();
      q.turnFile = json.at("turn_file").get<std::string>();
      return q;
    }
    const auto numbers = wholeNumbers<int>(json.at("plans"));
    if (!numbers || numbers->empty()) return garbled(text);
    q.numbers = *numbers;
    if (q.kind == LabQuestion::Kind::kLoad) {
      CUBEJIT_TRY(plan, planFromJson(oneLine(json.at("plan"))));
      q.plan = plan;
    }
    if (q.kind == LabQuestion::Kind::kSample) {
      if (!isWholeWithin(json.at("rounds"), 0, INT_MAX)) return garbled(text);
      q.rounds = json.at("rounds").get<int>();
    }
  } catch (const Json::exception&) {
    return garbled(text);
  }
  return q;
}

std::string replyToJson(const LabReply& reply) {
  return oneLine(Json{{"status", toString(reply.status)},
                      {"message", reply.message},
                      {"code", reply.code},
                      {"results", reply.results},
                      {"samples_ns", reply.samplesNs}});
}

Result<LabReply> replyFromJson(const std::string& text) {
  const Json json = parseJson(text);
  if (!json.is_object()) return garbled(text);
  LabReply reply;
  try {
    const std::string status = json.at("status").get<std::string>();
    reply.status = TrialStatus::kFailed;
    for (int s = 0; s <= static_cast<int>(TrialStatus::kFailed); ++s) {
      if (status == toString(static_cast<TrialStatus>(s))) reply.status = static_cast<TrialStatus>(s);
    }
    reply.message = json.at("message").get<std::string>();
    reply.code = json.at("code").get<std::string>();
    reply.results = json.at("results").get<std::string>();
    if (!json.at("samples_ns").is_array()) return garbled(text);
    for (const Json& list : json.at("samples_ns")) {
      const auto samples = wholeNumbers<std::int64_t>(list);
      if (!samples) return garbled(text);
      reply.samplesNs.push_back(*samples);
    }
  } catch (const Json::exception&) {
    return garbled(text);
  }
  return reply;
}

}  // namespace cubejit
