// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how the note is written: from a signal handler, so with write(2) and memory set aside before.
#include "crash_note.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

namespace cubejit::cli {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGILL, SIGFPE};
// A handler can be given nothing but globals.
std::array<char, 4096> note{};

void put(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void onCrash(int signal) {
  put("\nFAILED: generated code or the program around it crashed, signal ");
  const char digits[] = {static_cast<char>('0' + signal / 10), static_cast<char>('0' + signal % 10), '\0'};
  put(digits);
  put("\n  = repro: ");
  put(note.data());
  put("\n");
  _exit(6);
}

}  // namespace

CrashNote::CrashNote() {
  for (const int signal : kSignals) std::signal(signal, onCrash);
}

CrashNote::~CrashNote() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

void CrashNote::set(const std::string& reproduction) {
  const std::size_t length = std::min(reproduction.size(), note.size() - 1);
  std::memcpy(note.data(), reproduction.data(), length);
  note[length] = '\0';
}

}  // namespace cubejit::cli
