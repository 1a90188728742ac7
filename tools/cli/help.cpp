// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how help pages close.
#include "commands.h"

namespace cubejit::cli {

void example(CLI::App& command, const std::string& words) {
  command.footer("Example: cubejit " + words +
                 "\nExit codes: 0 ok, 1 a check failed, 2 invalid input, 3 unsupported here, 4 resources, 5 files, 6 "
                 "internal error, 7 nothing was checked");
}

}  // namespace cubejit::cli
