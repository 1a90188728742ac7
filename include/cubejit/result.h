// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how failure travels through the project: as a value, never as an exception or an abort.
// Leaves to callers what to do with it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cubejit/export.h"

namespace cubejit {

/// Whose fault a failure is.
enum class ErrorCode : std::uint8_t {
  kInvalidProblem,  ///< the caller's input breaks a rule; the message names every rule broken
  kUnsupported,     ///< legal, but not available for this dtype, layout or ISA
  kNoFeasiblePlan,  ///< no tiling satisfies the machine's limits
  kLimitExceeded,   ///< a resource ran out: memory, code size, registers
  kIo,              ///< a file could not be read or written
  kInternal         ///< a bug in cubejit
};

/// Which arrow of the pipeline failed.
enum class Stage : std::uint8_t { kProblem, kPlan, kTile, kVector, kEmit, kLoad, kRun };

CUBEJIT_API const char* toString(ErrorCode code);
CUBEJIT_API const char* toString(Stage stage);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  Stage stage = Stage::kProblem;
  std::string message;  ///< one violated rule per line, with its values and, where known, a fix
};

/// What was given breaks the rules that the message names.
inline Error invalidInput(std::string message, Stage stage = Stage::kProblem) {
  return {ErrorCode::kInvalidProblem, stage, std::move(message)};
}

/// A value or an Error. C++17 stand-in for std::expected.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Precondition: ok().
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Precondition: !ok().
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error, for steps that produce nothing.
struct Unit {};
using Status = Result<Unit>;

}  // namespace cubejit

// Evaluates `expr` (a Result); returns its error from the enclosing function, else binds its value to `name`.
#define CUBEJIT_TRY(name, expr)                          \
  auto name##OrError = (expr);                           \
  if (!name##OrError.ok()) return name##OrError.error(); \
  auto& name = name##OrError.value()

// The same of a Status, or of a Result whose value is of no use: returns its error from the enclosing function, if there is one.
#define CUBEJIT_RETURN_IF_ERROR(expr)                                                   \
  do {                                                                                  \
    if (auto statusOrError = (expr); !statusOrError.ok()) return statusOrError.error(); \
  } while (false)
