// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides decoding and effects of 11 instructions. Sources: Intel's Software Developer's Manual (state, faults, encodings, pseudocode of the
// products); Linux, Documentation/arch/x86/xstate.rst (permission).
#include "tests/support/amx_emulator.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace cubejit {
namespace {

constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;

struct Tiles {
  alignas(64) std::uint8_t config[64];
  alignas(64) std::uint32_t words[kTiles][kRows][kRowBytes / 4];
};
// A handler may not allocate, so this must not be made on first use.
__attribute__((tls_model("initial-exec"))) thread_local Tiles tiles;

char faults[512];
std::atomic<bool> faulted{false};
struct sigaction before;

int rowsOf(int t) { return tiles.config[48 + t]; }
int bytesOf(int t) { return tiles.config[16 + 2 * t] | tiles.config[17 + 2 * t] << 8; }

void fault(const std::uint8_t* at, const char* rule) {
  if (faulted.exchange(true)) return;
  std::snprintf(faults, sizeof faults, "%s at %p: %02x %02x %02x %02x %02x %02x", rule, static_cast<const void*>(at),
                at[0], at[1], at[2], at[3], at[4], at[5]);
}

const char* brokenConfig(const std::uint8_t* c) {
  if (c[0] > 1) return "#GP: no such palette";
  if (c[0] == 0) return nullptr;
  for (int i = 2; i < 64; ++i)
    if ((i < 16 || (i >= 32 && i < 48) || i >= 56) && c[i] != 0) return "#GP: a reserved byte is not 0";
  for (int t = 0; t < kTiles; ++t) {
    const int rows = c[48 + t], bytes = c[16 + 2 * t] | c[17 + 2 * t] << 8;
    if (rows > kRows || bytes > kRowBytes || (rows == 0) != (bytes == 0)) return "#GP: a tile's shape";
  }
  return nullptr;
}

// An instruction: a VEX prefix of three bytes (map 0F38, 128 bits, W = 0), the opcode, ModRM, and the address that ModRM asks for.
struct Decoded {
  int pp = 0, opcode = 0, mod = 0, reg = 0, rm = 0, vvvv = 0, length = 0;
  bool sib = false;
  std::uint8_t* address = nullptr;
  std::int64_t index = 0;  // the scaled index register: the distance of rows
};

std::int64_t registerOf(const ucontext_t& c, int number) {
  static constexpr int kPlaces[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return c.uc_mcontext.gregs[kPlaces[number]];
}

std::int32_t word32(const std::uint8_t* at) {
  std::int32_t value = 0;
  std::memcpy(&value, at, 4);
  return value;
}

bool decode(const std::uint8_t* p, const ucontext_t& c, Decoded& d) {
  if (p[0] != 0xC4 || (p[1] & 0x1F) != 2 || (p[2] & 0x84) != 0) return false;
  const int r = p[1] & 0x80 ? 0 : 8, x = p[1] & 0x40 ? 0 : 8, b = p[1] & 0x20 ? 0 : 8;
  d.pp = p[2] & 3;
  d.vvvv = ~(p[2] >> 3) & 15;
  d.opcode = p[3];
  if (d.opcode != 0x49 && d.opcode != 0x4B && d.opcode != 0x5C) return false;
  d.mod = p[4] >> 6;
  d.reg = (p[4] >> 3 & 7) | r;
  d.rm = p[4] & 7;
  int at = 5;
  if (d.mod == 3) {
    d.rm |= b;
  } else {
    std::int64_t base = 0;
    bool wide = d.mod == 2;
    if (d.rm == 4) {
      d.sib = true;
      const std::uint8_t sib = p[at++];
      const int index = (sib >> 3 & 7) | x;
      if (index != 4) d.index = registerOf(c, index) << (sib >> 6);
      if ((sib & 7) == 5 && d.mod == 0)
        wide = true;
      else
        base = registerOf(c, (sib & 7) | b);
    } else if (d.rm == 5 && d.mod == 0) {
      wide = true;
      base = reinterpret_cast<std::int64_t>(p) + at + 4;
    } else {
      base = registerOf(c, d.rm | b);
    }
    if (wide) {
      base += word32(p + at);
      at += 4;
    } else if (d.mod == 1) {
      base += static_cast<std::int8_t>(p[at++]);
    }
    d.address = reinterpret_cast<std::uint8_t*>(base);
  }
  d.length = at;
  return true;
}

// A row of sums: two chains of FMAs under flush-to-zero, as the manual's pseudocode says.
__attribute__((target("avx512f,avx512bw,avx512vl,f16c,fma"))) void multiply(int dst, int a, int b, bool f16) {
  constexpr __mmask16 kAll = 0xffff;  // of those forms GCC 12 does not say that they read what nobody wrote
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(0x9FC0);  // round to nearest even, FTZ, DAZ, all exceptions masked
  const int depth = bytesOf(a) / 4;
  for (int m = 0; m < rowsOf(dst); ++m) {
    __m512 even = _mm512_setzero_ps(), odd = _mm512_setzero_ps();
    for (int k = 0; k < depth; ++k) {
      const std::uint32_t pair = tiles.words[a][m][k];
      const __m512i pairs = _mm512_load_si512(tiles.words[b][k]);
      __m512 left[2], right[2];
      if (f16) {
        left[0] = _mm512_set1_ps(_cvtsh_ss(static_cast<std::uint16_t>(pair)));
        left[1] = _mm512_set1_ps(_cvtsh_ss(static_cast<std::uint16_t>(pair >> 16)));
        right[0] = _mm512_maskz_cvtph_ps(kAll, _mm512_maskz_cvtepi32_epi16(kAll, pairs));
        right[1] =
            _mm512_maskz_cvtph_ps(kAll, _mm512_maskz_cvtepi32_epi16(kAll, _mm512_maskz_srli_epi32(kAll, pairs, 16)));
      } else {
        left[0] = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(pair << 16)));
        left[1] = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(pair & 0xffff0000U)));
        right[0] = _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, pairs, 16));
        right[1] =
            _mm512_castsi512_ps(_mm512_maskz_and_epi32(kAll, pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
      }
      even = _mm512_fmadd_ps(left[0], right[0], even);
      odd = _mm512_fmadd_ps(left[1], right[1], odd);
    }
    const auto columns = static_cast<__mmask16>((1U << (bytesOf(dst) / 4)) - 1);
    const __m512 sum = _mm512_add_ps(_mm512_load_ps(tiles.words[dst][m]), _mm512_add_ps(even, odd));
    _mm512_mask_store_ps(tiles.words[dst][m], columns, sum);
  }
  _mm_setcsr(mode);
}

const char* product(const Decoded& d) {
  const int dst = d.reg, a = d.rm, b = d.vvvv;
  if (d.mod != 3 || dst > 7 || a > 7 || b > 7) return "#UD: operands";
  if (dst == a || dst == b || a == b) return "#UD: a tile is named twice";
  if (rowsOf(dst) == 0 || rowsOf(a) == 0 || rowsOf(b) == 0) return "#UD: a tile is not configured";
  if ((bytesOf(dst) | bytesOf(a) | bytesOf(b)) % 4 != 0) return "#UD: a row of no whole words";
  if (rowsOf(dst) != rowsOf(a) || bytesOf(dst) != bytesOf(b) || bytesOf(a) / 4 != rowsOf(b)) return "#UD: shapes";
  multiply(dst, a, b, d.pp == 3);
  return nullptr;
}

const char* configure(const Decoded& d) {
  if (d.pp == 3) {  // TILEZERO
    if (d.mod != 3 || d.reg > 7 || rowsOf(d.reg) == 0) return "#UD: tilezero of a tile that is not configured";
    std::memset(tiles.words[d.reg], 0, sizeof tiles.words[d.reg]);
    return nullptr;
  }
  if (d.pp == 0 && d.mod == 3) {  // TILERELEASE
    std::memset(&tiles, 0, sizeof tiles);
    return d.reg == 0 && d.rm == 0 ? nullptr : "#UD: operands";
  }
  if (d.mod == 3 || d.reg != 0) return "#UD: operands";
  if (d.pp == 1) {  // STTILECFG
    std::memcpy(d.address, tiles.config, 64);
    return nullptr;
  }
  if (const char* broken = brokenConfig(d.address)) return broken;
  std::memset(&tiles, 0, sizeof tiles);
  if (d.address[0] == 1) std::memcpy(tiles.config, d.address, 64);
  return nullptr;
}

const char* move(const Decoded& d) {
  if (d.mod == 3 || !d.sib) return "#UD: an address of rows needs a SIB byte";
  if (d.reg > 7 || rowsOf(d.reg) == 0) return "#UD: a tile is not configured";
  const auto bytes = static_cast<std::size_t>(bytesOf(d.reg));
  if (bytes % 4 != 0) return "#UD: a row of no whole words";
  if (d.pp != 2) std::memset(tiles.words[d.reg], 0, sizeof tiles.words[d.reg]);
  for (int r = 0; r < rowsOf(d.reg); ++r) {
    std::uint8_t* row = d.address + r * d.index;
    d.pp == 2 ? std::memcpy(row, tiles.words[d.reg][r], bytes) : std::memcpy(tiles.words[d.reg][r], row, bytes);
  }
  return nullptr;
}

void onIllegal(int signal, siginfo_t* info, void* context) {
  auto& c = *static_cast<ucontext_t*>(context);
  const auto* at = reinterpret_cast<const std::uint8_t*>(c.uc_mcontext.gregs[REG_RIP]);
  Decoded d;
  const bool known = decode(at, c, d) && (d.opcode == 0x49 ? d.pp != 2 : d.opcode == 0x4B ? d.pp != 0 : d.pp >= 2);
  if (!known) {
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
      return before.sa_sigaction(signal, info, context);
    sigaction(SIGILL, &before, nullptr);  // the instruction is run again, and what was there before has it
    return;
  }
  const char* broken = d.opcode == 0x49 ? configure(d) : d.opcode == 0x4B ? move(d) : product(d);
  if (broken != nullptr) fault(at, broken);
  c.uc_mcontext.gregs[REG_RIP] += d.length;
}

bool cpuHasTiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16AndTile = 1U << 22 | 1U << 24;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kBf16AndTile) == kBf16AndTile;
}

}  // namespace

bool tilesRun() {
  static const bool run = [] {
    if (cpuHasTiles()) return syscall(SYS_arch_prctl, 0x1023, 18L) == 0;
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) return false;
    struct sigaction handler = {};
    handler.sa_sigaction = onIllegal;
    handler.sa_flags = SA_SIGINFO | SA_NODEFER;
    return sigaction(SIGILL, &handler, &before) == 0;
  }();
  return run;
}

std::string takeTileFaults() {
  std::string all = faulted ? faults : "";
  faulted = false;
  return all;
}

}  // namespace cubejit

#else

namespace cubejit {

bool tilesRun() { return false; }
std::string takeTileFaults() { return ""; }

}  // namespace cubejit

#endif
