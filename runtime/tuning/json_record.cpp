// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides spelling and strictness of records. Problems and plans are written against their descriptions, so that a field
// added there is kept here, too.
#include "runtime/tuning/json_record.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include "runtime/text/json_object.h"
#include "runtime/text/json_problem.h"
#include "runtime/text/json_value.h"
#include "runtime/text/text_file.h"
#include "tiling/no_throw.h"
#include "tiling/words.h"

namespace cubejit {
namespace {

constexpr std::size_t kMostSamples = 100000;
constexpr std::int64_t kMostSmall = 999;  // of ranks and the like

Result<Json> parseObject(const std::string& text, const char* what) {
  if (text.size() > kMostText) return invalidInput(std::string(what) + " is longer than 1 MiB");
  return cubejit::parseObject(text, what, Stage::kProblem);
}

// The values of an enum are few and numbered from 0; a text that none of them is spelled as is refused.
template <class Enum>
bool parseNamed(const std::string& text, Enum& to) {
  constexpr int kMostValues = 32;
  for (int i = 0; i < kMostValues; ++i) {
    if (text != toString(static_cast<Enum>(i))) continue;
    to = static_cast<Enum>(i);
    return true;
  }
  return false;
}

using Formats = decltype(Problem::formats);

// Tensors that are not mentioned are not written: most problems mention none.
Json formatsJson(const Formats& formats) {
  Json json = Json::object();
  for (const TensorId tensor : kTensorIds) {
    const auto& format = formats[static_cast<std::size_t>(tensor)];
    if (!format) continue;
    json[toString(tensor)] = Json{{"dtype", toString(format->dtype)},
                                  {"layout", toString(format->layout)},
                                  {"strides", format->strides},
                                  {"c0", format->c0}};
    if (format->broadcast) json[toString(tensor)]["broadcast"] = true;
  }
  return json;
}

bool readFormats(const Json& json, Formats& formats) {
  if (!json.is_object()) return false;
  std::size_t known = 0;
  for (const TensorId tensor : kTensorIds) {
    if (!json.contains(toString(tensor))) continue;
    ++known;
    const Json& value = json[toString(tensor)];
    TensorFormat format;
    const bool broadcast = value.is_object() && value.contains("broadcast");
    if (!value.is_object() || value.size() != (broadcast ? 5 : 4) || !value.contains("dtype") ||
        !value["dtype"].is_string() || !value.contains("layout") || !value["layout"].is_string() ||
        !value.contains("c0") || !isWhole(value["c0"]) || !value.contains("strides") || !value["strides"].is_array() ||
        value["strides"].size() != format.strides.size() ||
        !std::all_of(value["strides"].begin(), value["strides"].end(), isWhole) ||
        (broadcast && !value["broadcast"].is_boolean()))
      return false;
    if (!parseNamed(value["dtype"].get<std::string>(), format.dtype) ||
        !parseNamed(value["layout"].get<std::string>(), format.layout))
      return false;
    format.c0 = value["c0"].get<std::int64_t>();
    format.broadcast = broadcast && value["broadcast"].get<bool>();
    for (std::size_t axis = 0; axis < format.strides.size(); ++axis)
      format.strides[axis] = value["strides"][axis].get<std::int64_t>();
    formats[static_cast<std::size_t>(tensor)] = format;
  }
  return known == json.size();
}

Json problemJson(const Problem& problem) {
  Json json;
  describeProblem(problem, [&](const char* name, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, Formats>) {
      const Json formats = formatsJson(field);
      if (!formats.empty()) json[name] = formats;
    } else if constexpr (std::is_same_v<Field, MathMode>) {
      if (field != MathMode::kStrict) json[name] = toString(field);  // as records were before there was a choice
    } else if constexpr (std::is_same_v<Field, PostOps>) {
      if (field.any()) json[name] = toString(field);
    } else if constexpr (std::is_same_v<Field, Dhw>)
      json[name] = Json::array({field.d, field.h, field.w});
    else if constexpr (std::is_enum_v<Field>)
      json[name] = toString(field);
    else
      json[name] = field;
  });
  return json;
}

Result<Problem> problemFrom(const Json& json) {
  if (!json.is_object()) return invalidInput("the problem is not an object");
  Problem problem;
  std::string broken;
  std::size_t known = 0;
  describeProblem(problem, [&](const char* name, auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (!json.contains(name)) return;  // written before the field existed: its default
    ++known;
    const Json& value = json[name];
    bool right = false;
    const char* rule = " is not one it may be";
    if constexpr (std::is_same_v<Field, Formats>) {
      right = readFormats(value, field);
    } else if constexpr (std::is_same_v<Field, Dhw>) {
      right = value.is_array() && value.size() == 3 && std::all_of(value.begin(), value.end(), isWhole);
      for (int axis = 0; right && axis < 3; ++axis)
        field[axis] = value[static_cast<std::size_t>(axis)].template get<std::int64_t>();
      rule = " must be [d, h, w], whole numbers from -2^63 to 2^63 - 1";
    } else if constexpr (std::is_same_v<Field, PostOps>) {
      const auto post = parsePostOps(value.is_string() ? value.get<std::string>() : "?");
      right = post.ok();
      if (right)
        field = *post;
      else
        static_cast<void>(toReword(post.error()));
    } else if constexpr (std::is_enum_v<Field>) {
      right = value.is_string() && parseNamed(value.get<std::string>(), field);
    } else if constexpr (std::is_same_v<Field, bool>) {
      right = value.is_boolean();
      if (right) field = value.get<bool>();
      rule = " must be true or false";
    } else {
      right = sizeof(Field) == 8 ? isWhole(value) : isWholeWithin(value, -kMostSmall, kMostSmall);
      if (right) field = value.get<Field>();
      rule = sizeof(Field) == 8 ? " must be a whole number from -2^63 to 2^63 - 1"
                                : " must be a whole number from -999 to 999";
    }
    if (!right)
      broken += std::string(broken.empty() ? "" : "\n") + "'" + name + "' of the problem = " + shown(value) + rule;
  });
  if (known != json.size())
    broken += std::string(broken.empty() ? "" : "\n") + "the problem has keys of a newer cubejit";
  if (!broken.empty()) return invalidInput(broken);
  return problem;
}

// Reads members with checks; remembers what is wrong.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {}
  void text(const char* key, std::string& to) {
    if (const Json* value = member(key, "a string", [](const Json& v) { return v.is_string(); }))
      to = value->get<std::string>();
  }
  void flag(const char* key, bool& to) {
    if (const Json* value = member(key, "true or false", [](const Json& v) { return v.is_boolean(); }))
      to = value->get<bool>();
  }
  void whole(const char* key, std::int64_t& to) {
    if (const Json* value = member(key, "a whole number from -2^63 to 2^63 - 1", isWhole))
      to = value->get<std::int64_t>();
  }
  void number(const char* key, double& to) {
    const auto fits = [](const Json& v) {
      return v.is_number() && v.get<double>() >= 0 && v.get<double>() < kMostNumber;
    };
    if (const Json* value = member(key, "a number from 0 on, below " + oneLine(Json(kMostNumber)), fits))
      to = value->get<double>();
  }
  const Json* any(const char* key) {
    return member(key, "", [](const Json&) { return true; });
  }
  void wrong(const std::string& what) { broken_ += (broken_.empty() ? "" : "\n") + what; }
  std::string broken() {
    for (const auto& [key, value] : json_.items()) {
      static_cast<void>(value);
      if (seen_.count(key) == 0) wrong("'" + key + "' is not a key this object has");
    }
    return broken_;
  }

 private:
  template <class Fits>
  const Json* member(const char* key, const std::string& rule, const Fits& fits) {
    seen_.insert(key);
    if (!json_.contains(key)) {
      wrong(std::string("'") + key + "' is missing");
      return nullptr;
    }
    if (fits(json_[key])) return &json_[key];
    wrong(std::string("'") + key + "' = " + shown(json_[key]) + " must be " + rule);
    return nullptr;
  }
  const Json& json_;
  std::set<std::string> seen_;
  std::string broken_;
};

Json costJson(const PlanCost& cost) {
  return Json{{"total", cost.totalCycles},
              {"compute", cost.computeCycles},
              {"memory", cost.memoryCycles},
              {"move", cost.moveCycles},
              {"call", cost.callCycles}};
}

Result<PlanCost> costOf(const Json& json) {
  if (!json.is_object()) return invalidInput("the cost is not an object");
  PlanCost cost;
  Members members(json);
  members.number("total", cost.totalCycles);
  members.number("compute", cost.computeCycles);
  members.number("memory", cost.memoryCycles);
  members.number("move", cost.moveCycles);
  members.number("call", cost.callCycles);
  const std::string broken = members.broken();
  if (!broken.empty()) return invalidInput(broken);
  return cost;
}

Result<std::vector<std::int64_t>> samplesOf(const Json& json) {
  auto samples = wholeNumbers<std::int64_t>(json, 1);
  if (!samples || samples->size() > kMostSamples)
    return invalidInput("samples must be a list of nanoseconds of at least 1");
  return std::move(*samples);
}

}  // namespace

std::string problemIdentity(const Problem& problem) { return oneLine(problemJson(problem)); }

Result<Problem> problemFromIdentity(const std::string& text) {
  CUBEJIT_TRY(json, parseObject(text, "the problem"));
  return problemFrom(json);
}

std::string planIdentity(const TilingPlan& plan) {
  const Json json = Json::parse(planToJson(plan));
  return oneLine(json);
}

std::string samplesToJson(const std::vector<std::int64_t>& samples) { return oneLine(Json(samples)); }

Result<std::vector<std::int64_t>> samplesFromJson(const std::string& text) {
  return samplesOf(parseJson(text.substr(0, kMostText)));
}

std::string costToJson(const PlanCost& cost) { return oneLine(costJson(cost)); }

Result<PlanCost> costFromJson(const std::string& text) {
  CUBEJIT_TRY(json, parseObject(text, "the cost"));
  return costOf(json);
}

std::string recordToJson(const TuneRecord& r) {
  Json json{{"schema", "cubejit.record/1"}, {"name", r.key.problem.name}, {"problem", problemJson(r.key.problem)}};
  json["pass"] = toString(r.key.pass);
  json["machine"] = r.key.machine;
  json["backend"] = r.key.backend;
  json["threads"] = r.key.threads;
  json["version"] = r.version;
  json["code"] = r.code;
  json["plan"] = Json::parse(planToJson(r.plan));
  json["cost"] = costJson(r.cost);
  json["status"] = toString(r.status);
  json["won"] = r.won;
  json["verified"] = r.verified;
  json["untuned"] = r.untuned;
  json["relative"] = r.relative;
  json["samples_ns"] = r.samplesNs;
  json["message"] = r.message;
  json["run"] = r.run;
  json["time"] = r.unixTime;
  return oneLine(json);
}

Result<TuneRecord> recordFromJson(const std::string& text) {
  CUBEJIT_TRY(json, parseObject(text, "the record"));
  rename(json, kPassOfOld, "pass");
  TuneRecord r;
  Members members(json);
  std::string schema, pass, status;
  std::int64_t threads = 0;
  members.text("schema", schema);
  members.text("name", r.key.problem.name);
  members.text("pass", pass);
  members.text("machine", r.key.machine);
  members.text("backend", r.key.backend);
  members.whole("threads", threads);
  members.text("version", r.version);
  members.text("code", r.code);
  members.text("status", status);
  members.flag("won", r.won);
  members.flag("verified", r.verified);
  members.flag("untuned", r.untuned);
  members.number("relative", r.relative);
  members.text("message", r.message);
  members.text("run", r.run);
  members.whole("time", r.unixTime);
  const auto take = [&](const Json* value, const auto& read, auto& to) {
    if (value == nullptr) return;
    auto result = read(*value);
    if (result.ok())
      to = *result;
    else
      members.wrong(result.error().message);
  };
  const std::string name = r.key.problem.name;
  take(members.any("problem"), problemFrom, r.key.problem);
  r.key.problem.name = name;
  take(members.any("plan"), [](const Json& v) { return planFromJson(oneLine(v)); }, r.plan);
  take(members.any("cost"), costOf, r.cost);
  take(members.any("samples_ns"), samplesOf, r.samplesNs);
  if (schema != "cubejit.record/1") members.wrong("schema '" + schema + "' is not cubejit.record/1");
  if (!parseNamed(pass, r.key.pass) || r.plan.pass != r.key.pass)
    members.wrong("pass '" + pass + "' is not that of the plan");
  if (threads < 1 || threads > 4096) members.wrong("threads = " + std::to_string(threads) + " must be from 1 to 4096");
  std::vector<TrialStatus> all;
  for (int s = 0; s <= static_cast<int>(TrialStatus::kFailed); ++s) all.push_back(static_cast<TrialStatus>(s));
  if (const auto known = parseWord("status", status, all); known.ok())
    r.status = *known;
  else
    members.wrong(known.error().message);
  r.key.threads = static_cast<int>(std::clamp<std::int64_t>(threads, 1, 4096));
  const std::string broken = members.broken();
  if (!broken.empty()) return invalidInput(broken);
  return r;
}

std::string pinToJson(const Pin& pin) {
  return oneLine(Json{{"schema", "cubejit.pin/1"},
                      {"name", pin.problem.name},
                      {"isa", pin.isa},
                      {"problem", problemJson(pin.problem)},
                      {"plan", Json::parse(planToJson(pin.plan))}});
}

Result<Pin> pinFromJson(const std::string& text) {
  CUBEJIT_TRY(json, parseObject(text, "the pin"));
  Pin pin;
  Members members(json);
  std::string schema, name;
  members.text("schema", schema);
  members.text("name", name);
  members.text("isa", pin.isa);
  const Json *problem = members.any("problem"), *plan = members.any("plan");
  if (schema != "cubejit.pin/1") members.wrong("schema '" + schema + "' is not cubejit.pin/1");
  const std::string broken = members.broken();
  if (!broken.empty()) return invalidInput(broken);
  CUBEJIT_TRY(theProblem, problemFrom(*problem));
  CUBEJIT_TRY(thePlan, planFromJson(oneLine(*plan)));
  pin.problem = theProblem;
  pin.problem.name = name;
  pin.plan = thePlan;
  return pin;
}

}  // namespace cubejit
