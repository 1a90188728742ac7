// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether a caller's tile configuration is there again when kernels have configured tiles and released them.
#include "runtime/exec/kept_tiles.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "codegen/vector/tile_config.h"
#include "tests/support/amx_emulator.h"

namespace cubejit {
namespace {

#if defined(__x86_64__)
struct alignas(64) Config {
  std::array<unsigned char, 64> bytes{};
};

Config configOf(int rows, int rowBytes) {
  TileConfig shapes;
  shapes[3] = {rows, rowBytes};
  const std::vector<std::int32_t> words = wordsOf(shapes);
  Config config;
  std::memcpy(config.bytes.data(), words.data(), config.bytes.size());
  return config;
}

void configure(const Config& config) {
  __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x07" : : "D"(config.bytes.data()) : "memory");  // ldtilecfg [rdi]
}
void release() { __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0"); }  // tilerelease
Config now() {
  Config config;
  __asm__ volatile(".byte 0xc4, 0xe2, 0x79, 0x49, 0x07" : : "D"(config.bytes.data()) : "memory");  // sttilecfg [rdi]
  return config;
}

// What a kernel does to the configuration.
void kernel() {
  configure(configOf(16, 64));
  release();
}

TEST(KeptTiles, ACallersConfigurationIsBackAfterwards) {
  if (!tilesRun()) GTEST_SKIP() << "neither AMX nor AVX-512 to imitate it with";
  const Config callers = configOf(5, 12), none;
  configure(callers);
  {
    const KeptTiles kept(true);
    kernel();
  }
  EXPECT_EQ(now().bytes, callers.bytes);
  release();
  {
    const KeptTiles kept(true);
    kernel();
  }
  EXPECT_EQ(now().bytes, none.bytes) << "nothing was configured, and nothing is";
  configure(callers);
  {
    const KeptTiles untouched(false);
  }
  EXPECT_EQ(now().bytes, callers.bytes);
  release();
  EXPECT_EQ(takeTileFaults(), "");
}
#endif

}  // namespace
}  // namespace cubejit
