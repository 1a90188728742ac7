// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks: does every mistake in a kernel's text end in an error that names its line and what would be right, and is no sound kernel refused?
#include "codegen/lang/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "codegen/lang/lower.h"
#include "codegen/lang/parse.h"
#include "tests/support/kernel_operands.h"

namespace cubejit {
namespace {

using ::testing::HasSubstr;

const char* const kSound =
    "cubejit kernel 1\n"
    "kernel softmax\n"
    "parameter M in 8 3\n"
    "parameter N\n"
    "input X f32 [M, N]\n"
    "output Y f32 [M, N]\n"
    "index j in N\n"
    "parallel i in M by 2\n"
    "  let most[i] = max[j](X[i, j])\n"
    "  let e[i, j] = exp(X[i, j] - most[i])\n"
    "  Y[i, j] = e[i, j] / sum[j](e[i, j])\n";

std::string errorOf(const std::string& text, const lang::Settings& settings = {{"N", "40"}}) {
  const auto kernel = lang::parse(text, settings);
  if (!kernel.ok()) return kernel.error().message;
  const auto program = lang::lower(*kernel, isaOf(IsaLevel::kAvx2));
  return program.ok() ? "" : program.error().message;
}

struct Mistake {
  const char *from, *to, *told;
};

TEST(KernelMistakes, AreNamedWithTheirLine) {
  EXPECT_EQ(errorOf(kSound), "");
  const Mistake kMistakes[] = {
      {"kernel 1", "kernel 7", "line 1, column 16: the text is cubejit kernel 7; this reads 1"},
      {"kernel softmax", "program softmax", "line 2, column 1: expected 'kernel', got 'program'"},
      {"parameter N\n", "parameter N in 5 6\n", "N is 40; it may be 5, 6"},
      {"parameter M in 8 3", "parameter N", "there is a 'N' already"},
      {"X f32", "X f64", "expected f32, f16, bf16, i8, i32 or a parameter that is one of them, got 'f64'"},
      {"X f32", "exp f32", "'exp' is an operation's word"},
      {"X f32", "argmax f32", "'argmax' is an operation's word"},
      {"X f32 [M, N]", "X f32 [M, 0]",
       "line 9: reads X outside: dimension 1 has no elements, its subscript goes from 0 to 39"},
      {"X f32 [M, N]", "X f32 [0 - M, N]", "expected an extent, 0 to 2^31, got -8; M is 8, N is 40"},
      {"i in M by 2", "i in M by M - 8",
       "line 8, column 24: expected a tile's size, 1 to 2^31, got 0; M is 8, N is 40"},
      {"i in M by 2", "i in M by -2", "line 8, column 21: expected a tile's size, 1 to 2^31, got -2; M is 8"},
      {"i in M by 2", "i in M by N / (M - 8)",
       "a quotient is of numbers from 0 up by those from 1 up, here 40 / 0; M is 8, N is 40"},
      {"index j in N", "index j in 8 - N", "expected how far it goes, 0 to 2^31, got -32; M is 8, N is 40"},
      {"X f32 [M, N]", "X f32 [M, R]", "no parameter or index 'R' here; there are M, N"},
      {"X f32 [M, N]", "X f32 [M]", "X has 1 dimensions, here are 2 subscripts"},
      {"index j in N", "index j in N + 1", "reads X outside: dimension 1 has 0 to 39, its subscript goes from 0 to 40"},
      {"index j in N", "parallel j in N", "line 8, column 1: expected the loop's body, further to the right"},
      {"Y[i, j] = e", "Y[i + 1, j] = e",
       "line 11: writes Y outside: dimension 0 has 0 to 7, its subscript goes from 1 to 8"},
      {"Y[i, j] = e", "Y[j, j] = e", "Y has index j in two dimensions; a target has each once"},
      {"Y[i, j] = e", "Y[0, j] = e",
       "tasks of the parallel loop over i (line 8) write the same elements of Y: no dimension of it is i's own"},
      {"Y[i, j] = e", "Y[0, j] = e", "e has values along i, which the target does not name"},
      {"Y[i, j] = e", "X[i, j] = e", "X is an input; inputs are read only"},
      {"Y[i, j] = e", "X[i, j] = e", "line 6: nothing writes output Y"},
      {"Y[i, j] = e", "Z[i, j] = e", "let or an output's element, got 'Z'"},
      {"  Y[i, j] = e[i, j]", "Y[i, j] = X[i, j]",
       "line 11, column 3: there is no parameter or index 'i' here; there are M, N"},
      {"  Y[i, j] = e", "   Y[i, j] = e",
       "line 11, column 4: expected a line that begins in the column of the one above it"},
      {"most[i] = max[j](X[i, j])", "most[i] = max[i](X[i, j])",
       "max over i, of which there is a parallel loop in line 8"},
      {"most[i] = max[j](X[i, j])", "most[i] = argmax[i](X[i, j])",
       "argmax over i, of which there is a parallel loop in line 8"},
      {"most[i] = max[j](X[i, j])", "most[i] = argmin[](X[i, j])", "argmin over no index"},
      {"most[i] = max[j](X[i, j])", "most[i] = argmax[j](7)", "max over j, which nothing in it names"},
      {"most[i] = max[j](X[i, j])", "most[i] = X[i, 0] * j",
       "line 9: index j is a number here, which the target does not name; sum, min or max over it, or name it"},
      {"  let most[i] = max[j](X[i, j])", "  let most[i] = max[j](X[i, j])\n  loop q in 16777217\n    most[i] = q",
       "index q is a value here, of 16777217 numbers; f32 has all whole numbers up to 2^24 only"},
      {"index j in N", "index q in 4097\nindex r in 4096\nindex j in N\nlet s = argmax[q, r](q * r)",
       "argmax over 16781312 numbers, up to index r; f32 has all whole numbers up to 2^24 only"},
      {"index j in N", "index q in 0\nindex j in N\nlet s = argmin[q](q)", "argmin over q, which has no numbers"},
      {"most[i] = max[j](X[i, j])", "most[i] = X[i, j]",
       "X has values along j, which the target does not name; sum, min or max over it"},
      {"most[i] = max[j](X[i, j])", "most[i] = max[j](7)", "max over j, which nothing in it names"},
      {"most[i] = max[j](X[i, j])", "most[i]", "line 10: most is read, and no line above writes it"},
      {"most[i] = max[j](X[i, j])", "most[i] = most[i]", "most is read in the line that makes it"},
      {"exp(X[i, j] - most[i])", "exp(X[i, j], most[i])", "expected ')'"},
      {"exp(X[i, j] - most[i])", "expo(X[i, j])", "no tensor and no operation 'expo'; operations are add, sub"},
      {"exp(X[i, j] - most[i])", "fma(X[i, j], most[i], Y[i, j])", "Y is read, and no line above writes it"},
      {"most[i])\n", "most[i + 1])\n", "most holds one tile of i in dimension 0: its subscript is i alone"},
      {"X[i, j] - most", "X[i * j, j] - most", "a product of two indices"},
      {"X[i, j] - most", "X[i, j / 2] - most", "a quotient is of numbers"},
      {"  let e", "  parallel k in N\n    let f[k] = 1\n  let e",
       "the parallel loop over k does not stand alone in the one around it; make it a loop"},
      {"parameter N\n", "parameter N\nrequire M <= N / 6\nrequire M + 1 == 9\nrequire N > 40\n",
       "line 5: requires 8 <= 6; M is 8, N is 40\nline 7: requires 40 > 40; M is 8, N is 40"},
      {"  let e", "  parallel k in i\n    let f[k] = 1\n  let e", "tiles of the tile of i are not for other tasks"},
      {"  let e", "  loop k in j by 2\n    let f[k] = 1\n  let e", "j is whole everywhere"},
      {"  let e", "  loop k in i\n    let f[k] = 1\n  let g[i] = f[i]\n  let e", "no tensor 'f' here"},
      {"parallel i in M by 2\n", "parallel i in M by 6\n  loop k in i by 4\n    let f[k] = 1\n",
       "line 9: tiles of 4 numbers of k do not make up one of 6 of i; make that a multiple, or write: by 4 * HOW_MANY; "
       "M is 8"},
      {"  Y[i, j] = e[i, j]", "  loop k in i\n    Y[0, j] = e[k, j]",
       "tasks of the parallel loop over i (line 8) write the same elements of Y"},
      {"parallel i in M by 2",
       "index q in 9\nlet f[q]\nparallel n in 4\n parallel m in 3\n  f[2 * n + m] = 1\nparallel i in M by 2",
       "tasks of the parallel loop over m (line 11) write the same elements of f: no dimension of it is m's own"},
      {"X f32 [M, N]", "X f32 [M, N] strides [17179869185, 1]",
       "dimension 0 of X reaches over more than 2^37 elements"},
      {"parameter N\n", "parameter N\nrequire M != N\n", "expected <=, <, ==, >= or >"},
      {"parameter N\n", "parameter N\nparameter T in f32 3\n", "types and numbers in one list"},
      {"parameter N\n", "parameter N\nparameter T in 3 f32\n", "types and numbers in one list"},
      {"parameter N\n", "parameter N\nparameter T = f16\nrequire T <= 3\n", "T is a type, here stands a number"},
      {"X f32 [M, N]", "X N [M, N]", "expected f32, f16, bf16, i8, i32 or a parameter that is one of them"},
      {"parameter M in", "parameter f32 in", "'f32' is a word of the language"},
      {"input X", "input inf", "'inf' is a word of the language"},
      {"parallel i in M by 2", "loop q in 3\n parallel i in M by 2",
       "line 9: the parallel loop over i stands within another sort of loop"},
  };
  for (const Mistake& m : kMistakes) {
    std::string text = kSound;
    const std::size_t at = text.find(m.from);
    ASSERT_NE(at, std::string::npos) << m.from;
    EXPECT_THAT(errorOf(text.replace(at, std::string(m.from).size(), m.to)), HasSubstr(m.told)) << text;
  }
  EXPECT_THAT(errorOf(kSound, {}),
              HasSubstr("line 4, column 11: N has no value: set it (--set N=N), or write one behind '='"));
  EXPECT_THAT(errorOf(kSound, {{"N", "99999999999999999999"}}), HasSubstr("it may be an integer, 2^31 at most"));
  EXPECT_THAT(errorOf(kSound, {{"N", "-9223372036854775808"}}), HasSubstr("it may be an integer, 2^31 at most"));
  EXPECT_THAT(errorOf(kSound, {{"N", "40"}, {"K", "1"}}), HasSubstr("softmax has no parameter K; there are M, N"));
}

TEST(KernelMistakes, ElementsOfOtherTasksAndOfTheStatementItself) {
  const std::string head =
      "cubejit kernel 1\nkernel k\ninput X f32 [9, 20]\noutput Y f32 [10, 20]\nindex j in 20\nindex m in 9\n";
  const auto told = [&](const std::string& lines) { return errorOf(head + lines, {}); };
  EXPECT_EQ(told("Y[9, j] = 1\nparallel i in 9 by 2\n  Y[i, j] = X[i, j]\n  Y[i, j] = Y[i, j] * 2\n"), "");
  EXPECT_THAT(told("parallel i in 9 by 2\n  Y[i, j] = X[i, j]\n  Y[i + 1, j] = 2\n"),
              HasSubstr("line 9: writes Y where other tasks of the parallel loop over i may write it (line 8)"));
  EXPECT_THAT(told("Y[9, j] = 1\nparallel i in 9 by 2\n  Y[i, j] = X[i, j]\n  let t[i, j] = Y[i + 1, j]\n"),
              HasSubstr("line 10: reads Y where other tasks of the parallel loop over i may write it (line 9)"));
  // Rows 2 i and 2 i + 1 are a task's own; 2 i and 2 i + 2 are not.
  EXPECT_EQ(told("parallel i in 5\n  Y[2 * i, j] = 1\n  Y[2 * i + 1, j] = 2\n"), "");
  EXPECT_THAT(told("parallel i in 4\n  Y[2 * i, j] = 1\n  Y[2 * i + 2, j] = 2\n"),
              HasSubstr("writes Y where other tasks of the parallel loop over i may write it"));
  EXPECT_EQ(told("Y[0, j] = 1\nloop i in 9\n  Y[i + 1, j] = Y[i, j] * 2 + X[i, j]\n"), "");
  EXPECT_THAT(told("Y[0, j] = 1\nloop i in 9 by 2\n  Y[i + 1, j] = Y[i, j] * 2\n"),
              HasSubstr("line 9: reads other elements of Y than each that it writes"));
  EXPECT_THAT(told("Y[9, j] = 1\nY[m, j] = Y[m + 1, j]\n"), HasSubstr("line 8: reads other elements of Y"));
}

TEST(KernelMistakes, AllOfThemAtOnce) {
  std::string text = kSound;
  text.replace(text.find("Y[i, j] = e"), 11, "X[0, j + 1] = e");
  const std::string told = errorOf(text);
  EXPECT_THAT(told, HasSubstr("X is an input"));
  EXPECT_THAT(told, HasSubstr("writes X outside: dimension 1"));
  EXPECT_THAT(told, HasSubstr("write the same elements of X"));
  EXPECT_THAT(told, HasSubstr("nothing writes output Y"));
}

TEST(KernelMistakes, WhatDoesNotFitIsToldWithNumbers) {
  const std::string gemm =
      "cubejit kernel 1\nkernel gemm\ninput A f32 [40, 8]\ninput B f32 [8, 40]\noutput C f32 [40, 40]\nindex k in 8\n"
      "parallel i in 40 by 10\n  loop j in 40 by 16\n    C[i, j] = sum[k](A[i, k] * B[k, j])\n";
  EXPECT_THAT(errorOf(gemm, {}), HasSubstr("line 9: a sum for each of 10 x 16 elements in vectors of 8 lanes: more "
                                           "sums than the 16 vector registers hold. "
                                           "Tiles of j or i must be smaller"));
  EXPECT_THAT(
      errorOf("cubejit kernel 1\nkernel wide\ninput A f32 [40, 8]\ninput B f32 [8, 300]\noutput C f32 [40, 300]\n"
              "index k in 8\nindex j in 300\nloop i in 40 by 20\n  C[i, j] = sum[k](A[i, k] * B[k, j])\n",
              {}),
      HasSubstr("vector registers hold. Tiles of i must be smaller"));
  EXPECT_THAT(errorOf("cubejit kernel 1\nkernel many\noutput Y f32 [2000000]\nloop i in 2000000\n  Y[i] = 0\n", {}),
              HasSubstr("loops of more than 1048576 steps in all, the last of them over i; larger tiles make fewer"));
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Where subscripts and extents stand in a line: behind [ or a comma, up to a comma or ].
std::vector<std::pair<std::size_t, std::size_t>> placesIn(const std::string& line) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '[' && ++depth == 1) begin = at + 1;
    if ((line[at] == ',' || line[at] == ']') && depth == 1) {
      places.emplace_back(begin, at - begin);
      begin = at + 1;
    }
    if (line[at] == ']') --depth;
  }
  return places;
}

// Mistakes that people make, one at a time and everywhere they can be made: a loop that goes one too far, a subscript one too large, a tensor one too
// small, an index left out of a target or swapped with its neighbour, a line that is missing. Some mean something all the same: a window has room.
TEST(KernelMistakes, MutantsOfKernelsAreNamed) {
  int mutants = 0, named = 0;
  std::string survivors;
  for (const KernelFile& file : kernelFiles()) {
    const std::vector<std::string> lines = linesOf(file.text);
    ASSERT_EQ(errorOf(file.text, {}), "") << file.name << ": a false alarm";
    const auto mutant = [&](std::size_t n, const std::string& changed) {
      std::vector<std::string> wrong = lines;
      wrong[n] = changed;
      ++mutants;
      const std::string told = errorOf(joined(wrong), {});
      if (told.rfind("line ", 0) == 0 || told.find("\nline ") != std::string::npos ||
          told.find(": line ") != std::string::npos)
        ++named;
      else
        survivors += file.name + ": " + changed + "\n" + told + "\n";
    };
    for (std::size_t n = 2; n < lines.size(); ++n) {
      const std::string& line = lines[n];
      const std::size_t word = line.find_first_not_of(' ');
      const auto begins = [&](const char* with) { return line.compare(word, std::string(with).size(), with) == 0; };
      if (line.empty() || line[0] == ';' || begins("parameter")) continue;
      if (begins("index") || begins("parallel") || begins("loop")) {
        const std::size_t by = std::min(line.size(), line.find(" by "));
        mutant(n, line.substr(0, by) + " + 1" + line.substr(by));
        continue;
      }
      const bool declares = begins("input") || begins("output");
      for (const auto& [at, size] : placesIn(line)) {
        const std::string place = line.substr(at, size);
        if (!declares && place.find_first_of("+*") != std::string::npos) continue;  // windows have room
        if (line.compare(at - std::min<std::size_t>(at, 4), 4, "sum[") == 0 ||
            line.compare(at - std::min<std::size_t>(at, 4), 4, "max[") == 0)
          continue;
        mutant(n, line.substr(0, at) + place + (declares ? " - 1" : " + 1") + line.substr(at + size));
      }
      if (declares) continue;
      const std::size_t target = begins("let ") ? word + 4 : word, open = line.find('[', target),
                        close = line.find(']', target);
      if (open < line.find('=') && close != std::string::npos) {
        const std::string inside = line.substr(open + 1, close - open - 1);
        const std::size_t comma = inside.find(", ");
        if (comma != std::string::npos)
          mutant(n,
                 line.substr(0, open + 1) + inside.substr(comma + 2) + line.substr(close));  // without its first index
      }
      if (begins("let ")) mutant(n, std::string(word, ' ') + "let unused");
    }
  }
  RecordProperty("mutants", mutants);
  RecordProperty("named", named);
  EXPECT_GE(mutants, 150);
  EXPECT_GE(100 * named, 95 * mutants) << named << " of " << mutants << ", not:\n" << survivors;
}

// Each is refused at a bound, in an instant.
TEST(KernelMistakes, TextsWithoutEnd) {
  std::string deep = "cubejit kernel 1\nkernel deep\noutput Y f32 [4]\nindex i in 4\nY[i] = ";
  EXPECT_THAT(errorOf(deep + std::string(100000, '(') + "\n", {}), HasSubstr("line 5"));
  EXPECT_THAT(errorOf(deep + std::string(100000, '-') + "1\n", {}), HasSubstr("line 5"));
  std::string twice;  // what argmax is of stands in the expression twice
  for (int d = 0; d < 60; ++d) twice += "argmax[i](";
  EXPECT_THAT(errorOf(deep + twice + "i" + std::string(60, ')') + "\n", {}),
              HasSubstr("more than 256 operations in a line"));
  std::string loops = "cubejit kernel 1\nkernel deep\n";
  for (int d = 0; d < 100; ++d)
    loops += std::string(static_cast<std::size_t>(d), ' ') + "loop n" + std::to_string(d) + " in 2\n";
  EXPECT_THAT(errorOf(loops, {}), HasSubstr("more than 16 loops within each other"));
  EXPECT_THAT(errorOf("cubejit kernel 1\nkernel big\noutput Y f32 [2000000000, 2000000000, 2000000000]\n", {}),
              HasSubstr("more than 2^37 elements"));
  EXPECT_THAT(errorOf("cubejit kernel 1\nkernel big\nparameter N\noutput Y f32 [4]\n",
                      {{"N", std::to_string(std::int64_t{1} << 60)}}),
              HasSubstr("2^31 at most"));
}

}  // namespace
}  // namespace cubejit
