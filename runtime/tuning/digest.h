// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how things are told apart in records: FNV-1a, 64 bits (Fowler, Noll, Vo). Not for adversaries.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cubejit {

class Digest {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) state_ = (state_ ^ p[i]) * 1099511628211ULL;
  }
  std::string text() const {
    std::array<char, 17> out{};
    std::snprintf(out.data(), out.size(), "%016llx", static_cast<unsigned long long>(state_));
    return out.data();
  }

 private:
  std::uint64_t state_ = 14695981039346656037ULL;
};

}  // namespace cubejit
