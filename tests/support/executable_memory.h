// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how tests look at the rights of pages, and how they make a system that forbids executable ones.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace cubejit {

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::string rights;
};

inline std::vector<Mapping> mappings() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping m;
    char rights[8] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %7s", &m.begin, &m.end, rights) != 3) continue;
    m.rights = rights;
    found.push_back(m);
  }
  return found;
}

inline std::string rightsOf(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Mapping& m : mappings()) {
    if (m.begin <= at && at < m.end) return m.rights;
  }
  return "unmapped";
}

/// How many mappings may be executed; -1 if one of them may be written as well.
inline int executableMappings() {
  int count = 0;
  for (const Mapping& m : mappings()) {
    const bool writable = m.rights.find('w') != std::string::npos, runs = m.rights.find('x') != std::string::npos;
    if (writable && runs) return -1;
    count += runs ? 1 : 0;
  }
  return count;
}

// Makes mprotect(..., PROT_EXEC) fail with EACCES from now on in this process.
inline bool forbidExecutableMemory() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace cubejit
