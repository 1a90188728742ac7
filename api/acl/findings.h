// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how violated rules travel: collected with their values and the document that states them, the first one's code returned, all
// of them in the thread's message. Leaves which rules there are to the rules_*.cpp files.
#pragma once

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "aclnn/aclnn_base.h"
#include "cubejit/result.h"

namespace cubejit::acl {

/// What aclGetRecentErrMsg() returns on this thread; empty = nothing has failed.
std::string& recentMessage();

inline constexpr const char* kForwardDocument = "aclnnConvolution";
inline constexpr const char* kBackwardDocument = "aclnnConvolutionBackward";
inline constexpr const char* kTbcForwardDocument = "aclnnConvTbc";
inline constexpr const char* kTbcDocument = "aclnnConvTbcBackward";
inline constexpr const char* kRuntimeDocument = "ACL runtime";
inline constexpr const char* kMetaDocument = "aclnn objects";

/// Return codes as aclnn documents them: a required argument is null, an argument is invalid, a tensor inside is null.
inline constexpr int kNull = ACLNN_ERR_PARAM_NULLPTR, kInvalid = ACLNN_ERR_PARAM_INVALID,
                     kInner = ACLNN_ERR_INNER_NULLPTR;

class Findings {
 public:
  explicit Findings(const char* document) : document_(document) {}

  /// One violated rule: which parameter or chapter states it, and what is wrong with which values.
  void add(int code, const std::string& chapter, const std::string& text) {
    if (text_.empty()) code_ = code;
    text_ += (text_.empty() ? "" : "\n") + std::to_string(code) + " " + chapter + ": " + text + " (" + document_ +
             ", " + chapter + ")";
  }
  void require(bool holds, int code, const std::string& chapter, const std::string& text) {
    if (!holds) add(code, chapter, text);
  }
  /// The library's own words, one rule a line.
  void add(int code, const Error& error) {
    for (std::size_t at = 0; at <= error.message.size();) {
      const std::size_t end = std::min(error.message.find('\n', at), error.message.size());
      add(code, toString(error.stage), error.message.substr(at, end - at));
      at = end + 1;
    }
  }

  bool any() const { return !text_.empty(); }
  int code() const { return code_; }
  const std::string& text() const { return text_; }
  /// Leaves the message where aclGetRecentErrMsg() finds it.
  int report() const {
    recentMessage() = text_;
    return code_;
  }

 private:
  const char* document_;
  std::string text_;
  int code_ = 0;
};

/// Reports a single violated rule.
inline int fail(int code, const char* document, const std::string& chapter, const std::string& text) {
  Findings findings(document);
  findings.add(code, chapter, text);
  return findings.report();
}

/// Runs a C function's body: nothing is thrown to the caller; out of memory and bugs become `code`.
template <class Value, class Body>
Value guarded(Value code, Body&& body) noexcept {
  const char* what = "out of memory";
  try {
    return body();
  } catch (const std::bad_alloc&) {
  } catch (...) {
    what = "an exception of the standard library; please report it";
  }
  try {
    recentMessage() = what;
  } catch (...) {
    recentMessage().clear();
  }
  return code;
}

}  // namespace cubejit::acl
