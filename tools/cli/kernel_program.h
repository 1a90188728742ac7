// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how `kernel` runs a tile program that was read from a file: on which data, and what is said of the results.
#pragma once

#include <map>
#include <string>

#include "codegen/tile/program.h"
#include "cubejit/options.h"
#include "cubejit/result.h"

namespace cubejit::cli {

/// Files by the names of the program's buffers; inputs without one are random, and so is what results hold before.
struct KernelData {
  std::map<std::string, std::string> inputs, outputs;
  std::uint64_t seed = 1;
};

/// Interprets the program, prints a line for each output and writes the files. Precondition: verify() accepts it.
Status interpretKernels(const TileProgram& program, const KernelData& data);

/// Generates, loads and runs the program on as many threads as the options say, and prints the shortest and the median time; with `breakdown`
/// the share of each kernel, of the loops between them and of waiting, for which clocks are read at each call. The same precondition.
Status timeKernels(const TileProgram& program, const KernelData& data, const Options& options, bool breakdown);

}  // namespace cubejit::cli
