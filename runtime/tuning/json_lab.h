// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the lines that a tuner and its worker process exchange: one JSON object each way a question.
#pragma once

#include <string>
#include <vector>

#include "cubejit/result.h"
#include "runtime/tuning/lab.h"

namespace cubejit {

/// One question to a lab, or (open) what it is about.
struct LabQuestion {
  enum class Kind : std::uint8_t { kOpen, kLoad, kVerify, kSample, kDrop } kind = Kind::kOpen;
  LabTask task;              ///< open
  std::string turnFile;      ///< open
  TilingPlan plan;           ///< load
  std::vector<int> numbers;  ///< load, verify, drop: one; sample: some
  int rounds = 1;            ///< sample
};

std::string questionToJson(const LabQuestion& question);
Result<LabQuestion> questionFromJson(const std::string& text);
std::string replyToJson(const LabReply& reply);
Result<LabReply> replyFromJson(const std::string& text);

}  // namespace cubejit
