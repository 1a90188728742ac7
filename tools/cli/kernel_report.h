// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the page about tuning a kernel holds. Leaves how it looks to kernel_report.html.
#pragma once

#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/tune_kernel.h"

namespace cubejit::cli {

/// Writes one self-contained HTML page: each choice that was tried, in this run (`tried`) or, where the session has a store, an earlier one. Texts of
/// the user's reach the page as JSON text only.
Status writeKernelReport(const std::string& path, const KernelTuneOutcome& outcome,
                         const std::vector<KernelRecord>& tried, const Session& session);

}  // namespace cubejit::cli
