// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a program asks for what is generated: every stage as files in a folder, one a pass. C++17; nothing throws.
#pragma once

#include <string>
#include <vector>

#include "cubejit/cubejit.hpp"
#include "cubejit/export.h"
#include "cubejit/result.h"

namespace cubejit {

/// What to write and where. Folders are named after the program and the ISA, e.g. dx_f32_n1c64k64_..._ndhwc__avx512.
struct DumpRequest {
  /// Names out of dumpStageNames(), separated by commas; "all" for every one.
  std::string stages = "problem,plan,tile,vector,asm,bin";
  std::string directory;  ///< made if it does not exist
  /// Kernels to write: a part of their name, where * and ? stand for anything; empty: all.
  std::string kernels;
  std::string symbol;  ///< prefix of the symbols of stages obj and c-header; empty: the folder's name
  /// How long a run takes here is measured, for about a fifth of a second, and stands at the head of stage html. Nothing where this CPU cannot
  /// run the code, nor for an emulated chip.
  bool measure = false;
};

/// problem, plan, tile, vector, ll, ll.opt, asm, bin, obj, c-header, mca, html.
CUBEJIT_API const std::vector<std::string>& dumpStageNames();

/// Generates for the session's machine and backend and writes the folders, each whole or not at all; returns their paths.
/// Code for an ISA that this CPU lacks can be dumped, but not run. An older folder of the same name is replaced.
/// Fails with kUnsupported for an unknown stage (the message lists those there are) or one whose component is missing, with
/// kIo if a folder cannot be written. May be called from many threads at once.
CUBEJIT_API Result<std::vector<std::string>> dump(const Session& session, const CompileRequest& request,
                                                  const DumpRequest& dump);

}  // namespace cubejit
