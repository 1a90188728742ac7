// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides where exceptions of the standard library end: every public function runs its body in here and returns a value.
#pragma once

#include <exception>
#include <new>
#include <system_error>

#include "cubejit/result.h"

namespace cubejit {

/// body() returns a Result; running out of memory becomes kLimitExceeded, anything else kInternal.
template <class Body>
auto withoutThrowing(Stage stage, Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimitExceeded, stage, "out of memory"};  // short enough to need none
  } catch (const std::system_error& e) {                              // no thread left
    const bool scarce = e.code() == std::errc::resource_unavailable_try_again;
    return Error{scarce ? ErrorCode::kLimitExceeded : ErrorCode::kInternal, stage, e.what()};
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, stage, e.what()};
  }
}

}  // namespace cubejit
