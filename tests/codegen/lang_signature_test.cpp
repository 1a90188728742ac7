// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: are exactly those parameters found that arrays determine, and does an array that contradicts another one say so, with both dimensions?
#include "codegen/lang/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cubejit::lang {
namespace {

using ::testing::HasSubstr;

constexpr const char* kText =
    "cubejit kernel 1 ; a comment\n\nkernel k\nparameter T in f32 bf16\nparameter M\nparameter K = 64 ; of both\n"
    "parameter mr in 4, 2\nrequire mr <= 12\n"
    "input A T [M, K]\ninput B T [ K , 2 * N+1 ]\noutput C f32 [M,(N)] strides [2 * N, 1]\nindex k in K\n"
    "parallel i in M by mr\n  C[i, 0] = 1\n";

Signature signature(std::string text = kText) {
  text.insert(text.find("parameter M"), "parameter N\n");
  return signatureOf(text).value();
}
std::string told(const Signature& s, const std::vector<Shape>& arrays, const Settings& given = {}) {
  const auto found = settingsFor(s, given, arrays);
  return found.ok() ? "" : found.error().message;
}

TEST(LangSignature, ReadsDeclarations) {
  const Signature s = signature();
  EXPECT_EQ(s.name, "k");
  ASSERT_EQ(s.parameters.size(), 5U);
  EXPECT_EQ(s.parameters[0].value, "f32");
  EXPECT_EQ(s.parameters[1].value, "");
  EXPECT_EQ(s.parameters[3].value, "64");
  EXPECT_EQ(s.parameters[4].value, "4");
  ASSERT_EQ(s.tensors.size(), 3U);
  EXPECT_EQ(s.tensors[0].type, "T");
  EXPECT_EQ(s.tensors[1].extents, (std::vector<std::string>{"K", "2 * N+1"}));
  EXPECT_EQ(s.tensors[2].extents, (std::vector<std::string>{"M", "(N)"}));
  EXPECT_TRUE(s.tensors[2].output);
  EXPECT_THAT(signatureOf("nonsense").error().message, HasSubstr("line 1"));
  EXPECT_THAT(signatureOf("cubejit kernel 1\nkernel k\ninput X f32 4\n").error().message,
              HasSubstr("line 3, column 13: expected '['"));
}

TEST(LangSignature, FindsWhatArraysDetermine) {
  const Settings found =
      settingsFor(signature(), {{"mr", "2"}}, {{"A", Element::kBf16, {7, 9}}, {"B", Element::kBf16, {9, 21}}}).value();
  EXPECT_EQ(found, (Settings{{"mr", "2"}, {"T", "bf16"}, {"M", "7"}, {"K", "9"}, {"N", "10"}}));
  // What nothing says is left to the text, and to tuning.
  EXPECT_EQ(settingsFor(signature(), {}, {{"A", Element::kF32, {7, 9}}}).value(),
            (Settings{{"T", "f32"}, {"M", "7"}, {"K", "9"}}));
}

TEST(LangSignature, OneExtentMayTellWhatAnotherOneNeeds) {
  const Signature s =
      signatureOf(
          "cubejit kernel 1\nkernel k\nparameter H\nparameter R = 3\nparameter s in 2 1\nparameter P\n"
          "input X f32 [H + P]\ninput Y f32 [(H - R) / s + 1]\ninput Z f32 [s * P - R]\ninput W f32 [R, H]\n")
          .value();
  EXPECT_EQ(settingsFor(s, {}, {{"X", Element::kF32, {20}}, {"W", Element::kF32, {5, 11}}}).value(),
            (Settings{{"H", "11"}, {"R", "5"}, {"P", "9"}}));
  // A product of two is solved with what the text says of one; that is no setting.
  EXPECT_EQ(settingsFor(s, {}, {{"Z", Element::kF32, {7}}}).value(), (Settings{{"P", "5"}}));
  EXPECT_EQ(told(s, {{"W", Element::kF32, {3, 11}}, {"Y", Element::kF32, {5}}}), "");
  EXPECT_EQ(
      told(s, {{"W", Element::kF32, {3, 11}}, {"Y", Element::kF32, {6}}}),
      "dimension 0 of Y is 6; (H - R) / s + 1 is 5, H is 11 by dimension 1 of W, R is 3 by dimension 0 of W, s is "
      "2 in the text");
  EXPECT_EQ(told(s, {{"W", Element::kF32, {3, 11}}, {"Y", Element::kF32, {9}}}, {{"s", "1"}}), "");
}

TEST(LangSignature, ContradictionsNameBoth) {
  const Signature s = signature();
  const Shape a{"A", Element::kF32, {7, 9}};
  EXPECT_EQ(told(s, {a, {"B", Element::kF32, {8, 21}}}), "dimension 0 of B is 8; K is 9 by dimension 1 of A");
  EXPECT_EQ(told(s, {a, {"B", Element::kF32, {9, 20}}}), "dimension 1 of B is 20; no N makes 2 * N+1 that");
  EXPECT_EQ(told(s, {a, {"B", Element::kF32, {9, 21}}, {"C", Element::kF32, {6, 11}}}),
            "dimension 0 of C is 6; M is 7 by dimension 0 of A\n"
            "dimension 1 of C is 11; (N) is 10, N is 10 by dimension 1 of B");
  EXPECT_EQ(told(s, {a}, {{"K", "10"}}), "dimension 1 of A is 9; K was given as 10");
  EXPECT_EQ(told(s, {a}, {{"T", "bf16"}}), "A is f32; T is bf16, which was given");
  EXPECT_EQ(told(s, {a, {"B", Element::kBf16, {9, 21}}}), "B is bf16; T is f32 by A");
  EXPECT_EQ(
      told(s, {{"C", Element::kF16, {6, 11}}, {"A", Element::kF32, {7}}, {"Z", Element::kF32, {}}}),
      "C is f16; the kernel's is f32\nA has 1 dimensions; the kernel's has 2\nk has no tensor Z; there are A, B, C");
}

TEST(LangSignature, NothingTheTextSaysBreaksIt) {
  for (const char* extent :
       {"", "(", "M M", "M / 0", "N * N", "M - ", "999999999999999999999", "0 * M", "j", "((((M))))"}) {
    const auto s =
        signatureOf("cubejit kernel 1\nkernel k\nparameter M\nparameter N = 2\nparameter T = f32\ninput X T [" +
                    std::string(extent) + ", M * T]\n");
    if (!s.ok()) continue;
    static_cast<void>(told(*s, {{"X", Element::kF32, {4, 4}}}));
    static_cast<void>(told(*s, {{"X", Element::kF32, {4}}}, {{"M", "0"}, {"N", "f32"}}));
  }
}

}  // namespace
}  // namespace cubejit::lang
