// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how errors of the library travel to whoever answers for them: to Python, where cubejit.errors says which class, or to PyTorch.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "cubejit/result.h"

namespace cubejit::python {

/// An Error on its way; the only exception of ours that is thrown inside the bindings.
class Failure : public std::exception {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}
  const Error& error() const { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

template <class T>
T valueOf(Result<T>&& result) {
  if (!result.ok()) throw Failure(result.error());
  return std::move(result).value();
}

inline void require(const Status& status) {
  if (!status.ok()) throw Failure(status.error());
}

/// Checks the number of threads of a session or a call; 0 leaves the number to others.
inline void requireThreads(int threads) {
  if (threads < 0)
    throw Failure(invalidInput("threads = " + std::to_string(threads) +
                               " must be at least 0; 0 is as many as the environment says, or the process may use"));
}

}  // namespace cubejit::python
