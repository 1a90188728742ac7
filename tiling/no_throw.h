// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where exceptions of the standard library end, and where a call's floating-point environment begins and ends: every public
// function that returns a Result runs its body in here.
#pragma once

#include <exception>
#include <new>
#include <system_error>

#include "cubejit/float_mode.h"
#include "cubejit/result.h"
#include "tiling/work_limit.h"

namespace cubejit {

/// While memory is short even a text may fail: what is said then needs none (15 characters).
inline Error outOfMemory(Stage stage) noexcept { return Error{ErrorCode::kLimitExceeded, stage, "out of memory"}; }
/// Tells it from a limit that the same call meets each time.
inline bool isOutOfMemory(const Error& error) {
  return error.code == ErrorCode::kLimitExceeded && error.message == outOfMemory(error.stage).message;
}

/// An error to be told in other words. Want of memory is none of what was read: that is thrown, for the face around to tell.
inline const Error& toReword(const Error& error) {
  if (isOutOfMemory(error)) throw std::bad_alloc();
  return error;
}

/// What is being caught, as an Error.
inline Error caughtError(Stage stage) noexcept {
  ErrorCode code = ErrorCode::kInternal;
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (const WorkLimitError& e) {
      return Error{ErrorCode::kLimitExceeded, stage, e.what()};
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::resource_unavailable_try_again) return Error{code, stage, e.what()};
      return Error{ErrorCode::kLimitExceeded, stage, std::string("no thread can be started: ") + e.what()};
    } catch (const std::exception& e) {
      return Error{code, stage, e.what()};
    } catch (...) {
      return Error{code, stage, "an exception"};
    }
  } catch (...) {  // no memory for its text
  }
  return outOfMemory(stage);
}

/// body() returns a Result; running out of memory or threads, or over a limit of work, becomes kLimitExceeded, anything else kInternal.
template <class Body>
auto withoutThrowing(Stage stage, Body&& body) noexcept -> decltype(body()) {
  const FloatScope environment;
  try {
    return body();
  } catch (...) {
    return caughtError(stage);
  }
}

}  // namespace cubejit
