// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what the page about a tuning run holds. Leaves how it looks to tune_report.html.
#pragma once

#include <string>
#include <vector>

#include "tune_run.h"

namespace cubejit::cli {

/// Writes one self-contained HTML page, and beside it a folder NAME_dumps with the generated code of the best plans. Names and
/// messages come from users' files: they reach the page as JSON text only.
Status writeReport(const std::string& path, const std::vector<TuneRow>& rows, RecordKeeper& keeper,
                   const Session& session, const TuneRun& run, double seconds);

}  // namespace cubejit::cli
