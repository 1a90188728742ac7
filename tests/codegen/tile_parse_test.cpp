// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks whether the text of a TileProgram is the program: what is printed reads back equal, whatever the fields hold, and what is no program is
// refused with line, column and what was expected there.
#include "codegen/tile/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "codegen/tile/print.h"
#include "codegen/tile/verify.h"
#include "tests/support/random_tile_program.h"
#include "tests/support/small_tile_program.h"

namespace cubejit {
namespace {

using testing::HasSubstr;

void expectReadsBack(const TileProgram& program) {
  const std::string text = print(program, Detail::kFull);
  const auto read = parseTileProgram(text);
  ASSERT_TRUE(read.ok()) << read.error().message << "\n" << text;
  EXPECT_EQ(print(*read, Detail::kFull), text);
  EXPECT_TRUE(*read == program) << text;
}

TEST(TileParse, ReadsBackWhatIsPrinted) { expectReadsBack(smallTileProgram()); }

TEST(TileParse, AnyFieldsReadBack) {
  std::mt19937_64 random(91);
  for (int i = 0; i < 3000; ++i) {
    expectReadsBack(randomTileProgram(random));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(TileParse, LabelsAreKept) {
  TileProgram program = smallTileProgram();
  std::get<Copy>(program.kernels[1]).label = "pack (of \"w\"),\n twice; \\";
  const auto read = parseTileProgram(print(program, Detail::kFull));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(std::get<Copy>(read->kernels[1]).label.text, std::get<Copy>(program.kernels[1]).label.text);
}

TEST(TileParse, FloatsKeepTheirBits) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::uint32_t bits = 0xffa00001U;
  float payload = 0;
  std::memcpy(&payload, &bits, 4);
  TileProgram program = smallTileProgram();
  const std::vector<float> values = {0.0F, -0.0F,   inf,  -inf,
                                     nan,  payload, 0.1F, std::numeric_limits<float>::denorm_min()};
  program.buffers[2].values = values;
  Expression& epilogue = std::get<Contract>(program.kernels[0]).epilogue;
  for (const float value : values)
    epilogue.then(ExpressionOp::kMax, ExpressionValue::constant(value), ExpressionValue::element());
  const auto read = parseTileProgram(print(program, Detail::kFull));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(std::memcmp(read->buffers[2].values.data(), values.data(), values.size() * 4), 0);
  EXPECT_EQ(std::get<Contract>(read->kernels[0]).epilogue, epilogue);
}

TEST(TileParse, RepetitionsAreShort) {
  TileProgram program = smallTileProgram();
  std::vector<Step>& steps = std::get<Contract>(program.kernels[0]).sections[0].steps;
  for (std::int32_t k = 1; k < 64; ++k) {
    Step next = steps[0];
    next.b[0].offset = 32 * k;
    for (AOperand& a : next.a) a.offset = 4 * k;
    steps.push_back(next);
  }
  for (std::int64_t i = 2; i < 500; ++i) program.phases[1].axes[0].steps.push_back({{i, 0, 64 * i}, 1, 1, {}});
  const std::string text = print(program, Detail::kFull);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40) << text;
  EXPECT_THAT(text, HasSubstr("step, repeat 64: a+4 b+32\n"));
  expectReadsBack(program);
}

TEST(TileParse, SpacesAndCommentsMeanNothing) {
  const std::string text = print(smallTileProgram(), Detail::kFull);
  std::string loose = "\n ; a comment\n\n";
  for (const char c : text) loose += c == '\n' ? "  ; here\r\n\n" : c == ' ' ? "  " : std::string(1, c);
  const auto read = parseTileProgram(loose);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(*read == smallTileProgram());
}

// Each with the error that its text gives.
struct WrongTile {
  const char *right, *wrong, *error;
};

TEST(TileParse, ErrorsSayWhereAndWhat) {
  const std::string text = print(smallTileProgram(), Detail::kFull);
  const WrongTile cases[] = {
      {"cubejit tile 1", "cubejit tile 7", "line 1, column 14: the text is cubejit tile 7; this reads 1"},
      {"cubejit tile 1", "tile program small", "line 1, column 1: expected 'cubejit', got 'tile'"},
      {"buffer panel shared", "buffer panel scratch",
       "line 5, column 14: expected one of input, output, shared, private, constant, got 'scratch'"},
      {"buffer x input 288", "buffer x input 99999999999999999999",
       "line 4, column 16: expected its size in bytes: 99999999999999999999 is not in"},
      {"buffer x input 288", "buffer x input 288k", "line 4, column 16: expected its size in bytes, got '288k'"},
      {"k1 copy", "k2 copy", "expected the next kernel: 2 is not in [1, 1]"},
      {"k1 copy", "k1 kopie",
       "expected one of contract, tile_product, copy, transpose, fill, accumulate, lane_reduce, map, got 'kopie'"},
      {"src_pitch 36", "src_pith 36", "expected a field of the kernel or the end of the line, got 'src_pith'"},
      {"rows 4", "rows", "expected a number, got 'cols'"},
      {"bcast a+0", "bcast a0", "expected 'a', got 'a0'"},
      {"acc0*b0", "acc40000*b0", "expected an accumulator, accN: 40000 is not in [0, 32767]"},
      {"stream src = x", "stream src = y", "expected a buffer; none is called y"},
      {"for row", "for column", "expected an axis; none is called column"},
      {"call pack(src, -, dst)", "call pack(src, -, dust)", "expected a stream or -; none is called dust"},
      {"  for row", "for row", "expected buffers, queues, units, a residual, kernels, lists, then phases, got 'for'"},
      {"class 1 a+16 c+256", "class 1 a+16 c+256 |",
       "expected a step: its class, what it moves, or +0, got the end of the line"},
      {"= k0 l0 | k0 l0 acc", "= k0 l0", "a row of 1 where the axis has 2 classes"},
      {"inside 4:", "inside four:", "expected how often, got 'four'"},
      {"1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 8..", "an f32, got '8..'"},
      {"buffer x input", "buffer \"x input", "got a quotation mark that nothing closes"},
      {"buffer x input", "buffer \"\\q\" input", "expected \\\", \\\\ or \\x and two digits"}};
  for (const WrongTile& c : cases) {
    const std::size_t at = text.find(c.right);
    ASSERT_NE(at, std::string::npos) << c.right << " is not in\n" << text;
    const auto read = parseTileProgram(std::string(text).replace(at, std::string(c.right).size(), c.wrong));
    ASSERT_FALSE(read.ok()) << c.wrong;
    EXPECT_EQ(read.error().stage, Stage::kTile);
    EXPECT_THAT(read.error().message, HasSubstr(c.error)) << c.wrong;
    EXPECT_EQ(read.error().message.rfind("line ", 0), 0U) << read.error().message;
  }
}

TEST(TileParse, AnotherVersionIsNotSupported) {
  const auto read = parseTileProgram("cubejit tile 2\nwhatever");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
}

// A summary is no program, and does not pass for one.
TEST(TileParse, SummariesAreRefused) {
  EXPECT_FALSE(parseTileProgram(print(smallTileProgram(), Detail::kSummary)).ok());
}

TEST(TileParse, LongTextsOfNothingAreRefusedQuickly) {
  for (const std::string& piece :
       {std::string("x"), std::string("\n"), std::string(" "), std::string("\""), std::string("; \n")}) {
    std::string text = "cubejit tile 1\nprogram p\nbuffer b input 4 = ";
    while (text.size() < (10U << 20)) text += piece;
    EXPECT_EQ(parseTileProgram(text).ok(), piece == "\n" || piece == " " || piece == "; \n") << piece;
  }
}

// A few words that stand for more than memory holds, or for nests that walks would drown in.
TEST(TileParse, RepetitionsAndDepthHaveLimits) {
  const std::string head = "cubejit tile 1\nprogram p\n";
  const auto codeOf = [&](const std::string& text) {
    const auto read = parseTileProgram(head + text);
    return read.ok() ? "read" : toString(read.error().code);
  };
  const char* const limit = toString(ErrorCode::kLimitExceeded);
  EXPECT_EQ(codeOf("buffer b constant 4 = 1 x4194304 1 x4194304\n"), limit);
  EXPECT_EQ(codeOf("phase p\n  axis i: +0, repeat 4000, repeat 4000 last 4000\n"), limit);
  EXPECT_EQ(codeOf("k0 contract c\n  acc c+0, repeat 3000, repeat 3000 last 3000\n"), limit);
  EXPECT_EQ(codeOf("phase p\n  axis i classes 100000\n  axis j classes 100000\n  call c(-, -, -) by i j\n"), limit);
  EXPECT_EQ(codeOf("k0 contract c\n  acc c+2147483000, repeat 900: c+1\n"), toString(ErrorCode::kInvalidProblem));
  std::string nest = "phase p\n  axis i\n";
  for (std::size_t depth = 1; depth < 1000; ++depth) nest += std::string(depth, ' ') + "for i\n";
  EXPECT_EQ(codeOf(nest), toString(ErrorCode::kInvalidProblem));
}

// What is wrong with a program that can be read is for verify() to say.
TEST(TileParse, UnsoundProgramsAreReadAndThenRefused) {
  std::string text = print(smallTileProgram(), Detail::kFull);
  text.replace(text.find("  for row\n"), 10, "  for row\n   for row\n");
  const auto read = parseTileProgram(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Status status = verify(*read);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("axis row encloses itself"));
}

}  // namespace
}  // namespace cubejit
