// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides whether backends agree: the same operands through several sessions must give the same bits.
// Leaves whether the bits are right to verify_problem.
#pragma once

#include <memory>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/verify/verify_problem.h"

namespace cubejit {

/// Sessions with the options given, one a backend.
std::vector<std::unique_ptr<Session>> sessionsFor(Options options, const std::vector<BackendKind>& backends);

/// Runs the request's passes on random reals, on the first of its thread counts. Failed names the first element in which a
/// session differs from the first one, and both backends. `plans` are used if given.
VerifyOutcome agreeBitByBit(const std::vector<std::unique_ptr<Session>>& sessions, const VerifyRequest& request);

}  // namespace cubejit
