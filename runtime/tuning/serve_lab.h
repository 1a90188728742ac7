// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what a worker process does: answers questions about plans until nobody asks.
#pragma once

namespace cubejit {

/// Reads questions from one file descriptor and writes replies to another, a line each. Returns when the other end is gone;
/// asks the system to end this process when its parent ends. False if a question could not be understood.
bool serveLab(int from, int to);

}  // namespace cubejit
