// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether emitted code does, bit by bit, what the interpreter says, on every ISA level this machine runs.
#include "codegen/backend.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/llvm_backend/emit.h"
#include "codegen/vector/interpret.h"
#include "codegen/vector/legalize.h"
#include "codegen/vector/print.h"
#include "cubejit/cubejit.hpp"
#include "runtime/loader/load_raw.h"
#include "runtime/loader/orc/load_orc.h"
#include "tests/support/random_arena.h"
#include "tests/support/random_vector_program.h"
#include "tests/support/run_code.h"

namespace cubejit {
namespace {

using Arena = RandomArena;

struct Backend {
  const char* name;
  Result<Code> (*emit)(const VectorProgram&);
  Result<LoadedCode> (*load)(const std::vector<Code>&);
  int randomPrograms;  ///< LLVM takes a thousand times as long
};
constexpr Backend kXbyak{"xbyak", emitXbyak, loadRaw, 1500}, kLlvm{"llvm", emitLlvm, loadOrc, 400};

std::string firstDifference(const Arena& wanted, const Arena& got) {
  for (std::size_t at = 0; at + 4 <= sizeof wanted.c; at += 4) {
    std::uint32_t x = 0, y = 0;
    std::memcpy(&x, reinterpret_cast<const char*>(wanted.c) + at, 4);
    std::memcpy(&y, reinterpret_cast<const char*>(got.c) + at, 4);
    if (x != y) {
      std::ostringstream text;
      text << "at c+" << at << ": " << std::hex << y << " instead of " << x;
      return text.str();
    }
  }
  return "nowhere";
}

using BackendCase = std::tuple<Backend, IsaLevel>;

class Backends : public testing::TestWithParam<BackendCase> {
 protected:
  const Backend backend = std::get<0>(GetParam());
  const IsaLevel level = std::get<1>(GetParam());
  HostIsa isa() const { return isaOf(level); }

  // False if the code could not be mapped.
  bool run(const Code& code, const KernelArgs& args) const {
    const auto loaded = backend.load({code});
    if (loaded.ok())
      loaded->entry(0)(&args);
    else
      ADD_FAILURE() << loaded.error().message;
    return loaded.ok();
  }

  // Interprets the program as given and as legalised, runs the code where the machine has its instructions, and compares all memory.
  void agree(const VectorProgram& program, unsigned seed) {
    const auto legal = legalize(program);
    ASSERT_TRUE(legal.ok()) << legal.error().message << "\n" << print(program);
    const auto code = backend.emit(*legal);
    ASSERT_TRUE(code.ok()) << code.error().message << "\n" << print(*legal);
    Arena plain(seed);
    ASSERT_TRUE(leavesTheSame(program, *legal, plain));
    ASSERT_TRUE(plain.guardsIntact());
    if (!hostRuns(level)) return;  // what is legalised was compared, and can be emitted
    Arena native(seed);
    ASSERT_TRUE(run(*code, native.args()));
    ASSERT_EQ(takeTileFaults(), "") << print(*legal);
    ASSERT_EQ(std::memcmp(plain.c, native.c, sizeof plain.c), 0)
        << "code differs from the interpreter " << firstDifference(plain, native) << "\n"
        << print(*legal);
  }
};

TEST_P(Backends, RandomProgramsAgreeWithTheInterpreter) {
  std::mt19937 rng(7);
  for (unsigned n = 0; n < static_cast<unsigned>(backend.randomPrograms); ++n) {
    RandomShape shape;
    shape.instructions = 1 + static_cast<int>(rng() % 80);
    shape.vectors = 2 + static_cast<int>(rng() % static_cast<unsigned>(mostRandomVectors(isa()) - 1));
    shape.masks = n % 3 != 0;
    agree(randomVectorProgram(rng, isa(), shape), n);
    if (HasFatalFailure()) return;
  }
}

// A program that computes a scalar known to be `value` in s3 and stores a vector at c + 128 only if it really is.
VectorProgram storesIfEqual(const HostIsa& isa, std::vector<VInstr> computes, std::int64_t value) {
  VectorProgram p;
  p.name = "scalars";
  p.isa = isa;
  p.code = std::move(computes);
  const std::vector<VInstr> rest = {
      {.op = VOp::kArg, .dst = 0, .imm = 0},
      {.op = VOp::kLoad, .dst = 0, .mem = {0, 256}},
      {.op = VOp::kArg, .dst = 1, .imm = 2},
      {.op = VOp::kSet, .dst = 2, .imm = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value))},
      {.op = VOp::kAdd, .dst = 2, .src1 = 2, .src2 = 3},
      {.op = VOp::kAdd, .dst = 1, .src1 = 1, .src2 = 2},
      {.op = VOp::kStore, .src1 = 0, .mem = {1, 128}}};
  p.code.insert(p.code.end(), rest.begin(), rest.end());
  return p;
}

TEST_P(Backends, ScalarOpsKeepAll64Bits) {
  const std::int64_t imms[] = {0,
                               1,
                               -1,
                               127,
                               128,
                               -128,
                               -129,
                               0x7fffffff,
                               -0x80000000LL,
                               0x80000000LL,
                               0xffffffffLL,
                               0x123456789abcLL,
                               -0x123456789abcLL};
  unsigned seed = 0;
  for (const std::int64_t imm : imms) {
    agree(storesIfEqual(isa(), {{.op = VOp::kSet, .dst = 3, .imm = imm}}, imm), seed++);
    agree(storesIfEqual(isa(),
                        {{.op = VOp::kSet, .dst = 3, .imm = 5}, {.op = VOp::kAddImm, .dst = 3, .src1 = 3, .imm = imm}},
                        imm + 5),
          seed++);
    agree(storesIfEqual(isa(),
                        {{.op = VOp::kSet, .dst = 4, .imm = 5}, {.op = VOp::kAddImm, .dst = 3, .src1 = 4, .imm = imm}},
                        imm + 5),
          seed++);
    agree(storesIfEqual(isa(),
                        {{.op = VOp::kSet, .dst = 4, .imm = imm},
                         {.op = VOp::kCopy, .dst = 5, .src1 = 4},
                         {.op = VOp::kAdd, .dst = 3, .src1 = 4, .src2 = 5}},
                        imm * 2),
          seed++);
    agree(storesIfEqual(isa(),
                        {{.op = VOp::kSet, .dst = 4, .imm = imm},
                         {.op = VOp::kSet, .dst = 3, .imm = 9},
                         {.op = VOp::kAdd, .dst = 3, .src1 = 4, .src2 = 3}},
                        imm + 9),
          seed++);
    if (HasFatalFailure()) return;
  }
}

// Twelve values at once, each with a bit of its own in the sum.
TEST_P(Backends, ScalarRegistersAreDistinct) {
  std::vector<VInstr> code;
  for (std::int8_t s = 0; s < kScalarRegs; ++s)
    code.push_back({.op = VOp::kSet, .dst = s, .imm = std::int64_t{1} << (3 * s)});
  std::int64_t sum = 0;
  for (std::int8_t s = 0; s < kScalarRegs; ++s) {
    if (s != 3) code.push_back({.op = VOp::kAdd, .dst = 3, .src1 = 3, .src2 = s});
    sum += std::int64_t{1} << (3 * s);
  }
  agree(storesIfEqual(isa(), code, sum), 4);
}

TEST_P(Backends, ScalarLoadsAndLoopCounts) {
  const std::int64_t third = static_cast<std::int64_t>(Arena(3).list[2]), fourth = Arena(3).list[3];
  const VInstr list{.op = VOp::kArg, .dst = 4, .imm = 3};
  agree(storesIfEqual(isa(),
                      {list,
                       {.op = VOp::kLoadScalar, .dst = 3, .mem = {4, 16}},
                       {.op = VOp::kAddLoad, .dst = 3, .src1 = 3, .mem = {4, 24}}},
                      third + fourth),
        3);
  agree(storesIfEqual(isa(),
                      {list,
                       {.op = VOp::kAddImm, .dst = 4, .src1 = 4, .imm = 24},
                       {.op = VOp::kSet, .dst = 5, .imm = 3},
                       {.op = VOp::kAddLoad, .dst = 3, .src1 = 5, .mem = {4, -8}}},
                      third + 3),
        3);
  for (const std::int64_t count : {-5, 0, 1, 7}) {
    agree(storesIfEqual(isa(),
                        {{.op = VOp::kSet, .dst = 3, .imm = 100},
                         {.op = VOp::kSet, .dst = 11, .imm = count},
                         {.op = VOp::kLoop, .dst = 11},
                         {.op = VOp::kAddImm, .dst = 3, .src1 = 3, .imm = 10},
                         {.op = VOp::kEndLoop},
                         {.op = VOp::kAdd, .dst = 3, .src1 = 3, .src2 = 11}},
                        100 + (count > 0 ? 10 * count : count)),
          3);
  }
}

// The last elements before an unreadable page, and the first behind one.
TEST_P(Backends, MaskedAccessDoesNotTouchOtherMemory) {
  if (!hostRuns(level)) GTEST_SKIP() << "this machine has no " << toString(level);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* map = static_cast<char*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(map, MAP_FAILED);
  ASSERT_EQ(mprotect(map, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(map + 2 * page, page, PROT_NONE), 0);
  const int lanes = isa().lanes(), tail = 3;
  VectorProgram p;
  p.name = "edges";
  p.isa = isa();
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2},
            {.op = VOp::kMaskRange, .dst = 1, .imm = tail << 8},
            {.op = VOp::kMaskRange, .dst = 2, .imm = (lanes - tail) | lanes << 8},
            {.op = VOp::kLoad, .dst = 0, .mask = 1, .mem = {0, static_cast<std::int32_t>(page) - 4 * tail}},
            {.op = VOp::kStore, .src1 = 0, .mask = 1, .mem = {0, static_cast<std::int32_t>(page) - 4 * tail}},
            {.op = VOp::kLoad, .dst = 1, .mask = 2, .mem = {0, -4 * (lanes - tail)}},
            {.op = VOp::kStore, .src1 = 1, .mask = 2, .mem = {0, -4 * (lanes - tail)}}};
  const auto legal = legalize(p);
  ASSERT_TRUE(legal.ok());
  const auto code = backend.emit(*legal);
  ASSERT_TRUE(code.ok());
  KernelArgs args;
  args.c = map + page;
  EXPECT_TRUE(run(*code, args));
  munmap(map, 3 * page);
}

// Half a vector and a quarter may be accessed by narrower instructions, but not under a mask that is both in turn.
TEST_P(Backends, AMaskThatChangesIsNoPartOfAVector) {
  if (!hostRuns(level)) GTEST_SKIP() << "this machine has no " << toString(level);
  const int half = isa().lanes() / 2;
  for (const auto& [first, last] : {std::pair{half, half / 2}, std::pair{half / 2, half}}) {
    VectorProgram p;
    p.name = "parts";
    p.isa = isa();
    p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2},
              {.op = VOp::kMaskRange, .dst = 1, .imm = first << 8},
              {.op = VOp::kLoad, .dst = 0, .mask = 1, .mem = {0, 64}},
              {.op = VOp::kStore, .src1 = 0, .mask = 1, .mem = {0, 0}},
              {.op = VOp::kMaskRange, .dst = 1, .imm = last << 8},
              {.op = VOp::kLoad, .dst = 1, .mask = 1, .mem = {0, 192}},
              {.op = VOp::kStore, .src1 = 1, .mask = 1, .mem = {0, 128}}};
    agree(p, 1);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Backends, SameProgramGivesSameBytes) {
  std::mt19937 rng(11);
  for (int n = 0; n < 50; ++n) {
    const auto legal = legalize(randomVectorProgram(rng, isa(), {}));
    ASSERT_TRUE(legal.ok());
    const auto one = backend.emit(*legal), two = backend.emit(*legal);
    ASSERT_TRUE(one.ok() && two.ok());
    EXPECT_EQ(one->bytes, two->bytes);
    EXPECT_EQ(one->lines, two->lines);
  }
}

TEST_P(Backends, ConstantsAreUnchanged) {
  VectorProgram p;
  p.name = "constants";
  p.isa = isa();
  p.constants = {std::vector<std::int32_t>(static_cast<std::size_t>(p.isa.lanes()), 0x11223344)};
  p.code = {{.op = VOp::kArg, .dst = 0, .imm = 2},
            {.op = VOp::kConst, .dst = 0, .imm = 0},
            {.op = VOp::kStore, .src1 = 0, .mem = {0, 0}}};
  const auto code = backend.emit(p);
  ASSERT_TRUE(code.ok()) << code.error().message;
  agree(p, 1);
  if (code->format != CodeFormat::kRaw) return;
  // Raw code has them behind the instructions, aligned.
  const std::size_t bytes = static_cast<std::size_t>(p.isa.lanes()) * 4;
  ASSERT_EQ(code->bytes.size() % 64, bytes % 64);
  EXPECT_EQ((code->bytes.size() - bytes) % 64, 0u);
  EXPECT_EQ(std::memcmp(code->bytes.data() + code->bytes.size() - bytes, p.constants[0].data(), bytes), 0);
  EXPECT_EQ(code->lines.size(), p.code.size());
}

TEST_P(Backends, IllFormedProgramsAreRefused) {
  VectorProgram p;
  p.name = "bad";
  p.isa = isa();
  p.code = {{.op = VOp::kEndLoop}};
  const auto code = backend.emit(p);
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.error().message.find("no loop is open"), std::string::npos);
}

TEST_P(Backends, UnlegalisedProgramsAreRefused) {
  VectorProgram p;
  p.name = "masked";
  p.isa = avx2Isa();
  p.code = {{.op = VOp::kMaskRange, .dst = 1, .imm = 3 << 8}};
  const auto code = backend.emit(p);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().stage, Stage::kEmit);
  EXPECT_NE(code.error().message.find("must be legalised"), std::string::npos);
}

// Every backend and level of the architecture this was built for; whether others can be emitted is asked by llvm_backend_test.
std::vector<BackendCase> casesHere() {
  std::vector<BackendCase> cases;
  for (const IsaLevel level : kAllIsaLevels) {
    if (architectureOf(level) != architectureOf(runnableIsas().front())) continue;
    if (architectureOf(level) == Architecture::kX86_64) cases.emplace_back(kXbyak, level);
    cases.emplace_back(kLlvm, level);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Isa, Backends, testing::ValuesIn(casesHere()), [](const auto& info) {
  return std::string(std::get<0>(info.param).name) + "_" + toString(std::get<1>(info.param));
});

}  // namespace
}  // namespace cubejit
