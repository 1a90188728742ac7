// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the grammar of problem flags. benchdnn's descriptor is read in prb_text.cpp.
#include "runtime/text/problem_text.h"

#include <algorithm>
#include <vector>

#include "tiling/check_problem.h"
#include "tiling/no_throw.h"
#include "tiling/whole_number.h"

namespace cubejit {
namespace {

std::optional<std::vector<std::int64_t>> parseList(const std::string& text) {
  std::vector<std::int64_t> values;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto value = wholeNumber<std::int64_t>(std::string_view(text).substr(begin, end - begin));
    if (!value) return std::nullopt;
    values.push_back(*value);
    if (end == text.size()) return values;
    begin = end + 1;
  }
}

class Reader {
 public:
  // One value for all axes or one per axis, right-aligned into d, h, w.
  void perAxis(const char* flag, const std::string& text, int rank, std::int64_t neutral, Dhw& to) {
    for (int a = 0; a < 3; ++a) to[a] = neutral;
    if (text.empty()) return;
    const auto values = list(flag, text);
    if (!values) return;
    if (values->size() != 1 && values->size() != static_cast<std::size_t>(rank)) {
      fail(std::string(flag) + " = " + text + " has " + std::to_string(values->size()) + " values; give 1 or " +
           std::to_string(rank));
      return;
    }
    for (int i = 0; i < rank; ++i)
      to[3 - rank + i] = values->size() == 1 ? (*values)[0] : (*values)[static_cast<std::size_t>(i)];
  }

  std::optional<std::vector<std::int64_t>> list(const char* flag, const std::string& text) {
    auto values = parseList(text);
    if (!values)
      fail(std::string(flag) + " = '" + text +
           "' is not a comma-separated list of whole numbers from -2^63 to 2^63 - 1");
    return values;
  }

  void fail(const std::string& message) { broken_ += (broken_.empty() ? "" : "\n") + message; }
  const std::string& broken() const { return broken_; }

 private:
  std::string broken_;
};

void readPadding(Reader& reader, const std::string& text, int rank, Problem& p) {
  const auto values = reader.list("--padding", text.empty() ? "0" : text);
  for (int a = 0; a < 3; ++a) p.padBefore[a] = p.padAfter[a] = 0;
  if (!values) return;
  const auto n = static_cast<int>(values->size());
  if (n != 1 && n != rank && n != 2 * rank) {
    reader.fail("--padding = " + text + " has " + std::to_string(n) + " values; give 1, " + std::to_string(rank) +
                ", or " + std::to_string(2 * rank) + " (before and after per axis)");
    return;
  }
  for (int i = 0; i < rank; ++i) {
    const auto at = [&](int index) { return (*values)[static_cast<std::size_t>(index)]; };
    p.padBefore[3 - rank + i] = n == 1 ? at(0) : n == rank ? at(i) : at(2 * i);
    p.padAfter[3 - rank + i] = n == 1 ? at(0) : n == rank ? at(i) : at(2 * i + 1);
  }
}

__extension__ using Wide = __int128;

// Extents that would overflow are left to checkProblem: here they saturate.
std::int64_t clamped(Wide value) {
  constexpr Wide kMost = INT64_MAX;
  return static_cast<std::int64_t>(std::clamp<Wide>(value, -kMost, kMost));
}

}  // namespace

Result<Problem> parseProblemFlags(const ProblemFlags& flags) {
  Reader reader;
  if (flags.input.empty())
    reader.fail("--input is missing; give N,C and 1 to 3 spatial extents, e.g. --input 1,64,16,16,16");
  if (flags.weight.empty())
    reader.fail("--weight is missing; give O,I/groups and the kernel extents, e.g. --weight 64,64,3,3,3");
  if (!reader.broken().empty()) return invalidInput(reader.broken());
  const auto input = reader.list("--input", flags.input), weight = reader.list("--weight", flags.weight);
  if (!input || !weight) return invalidInput(reader.broken());
  if (input->size() < 3 || input->size() > 5)
    reader.fail("--input = " + flags.input + " has " + std::to_string(input->size()) +
                " values; give N,C and 1 to 3 spatial extents");
  else if (weight->size() != input->size())
    reader.fail("--weight = " + flags.weight + " has " + std::to_string(weight->size()) + " values, --input has " +
                std::to_string(input->size()) + "; they must have the same rank");
  if (!reader.broken().empty()) return invalidInput(reader.broken());

  Problem p;
  p.rank = static_cast<int>(input->size()) - 2;
  p.batch = (*input)[0];
  p.cin = (*input)[1];
  p.groups = flags.groups;
  p.transposed = flags.transposed;
  for (int i = 0; i < p.rank; ++i) {
    p.in[3 - p.rank + i] = (*input)[static_cast<std::size_t>(i) + 2];
    p.kernel[3 - p.rank + i] = (*weight)[static_cast<std::size_t>(i) + 2];
  }
  const std::int64_t first = (*weight)[0], second = (*weight)[1];
  if (p.transposed) {
    p.cout = clamped(static_cast<Wide>(second) * std::max<std::int64_t>(1, p.groups));
    if (first != p.cin)
      reader.fail("--weight has " + std::to_string(first) + " input channels, --input has " + std::to_string(p.cin) +
                  "; weights of a transposed convolution are I,O/groups,spatial");
  } else {
    p.cout = first;
    if (p.groups >= 1 && static_cast<Wide>(second) * p.groups != p.cin) {
      reader.fail("--weight has " + std::to_string(second) + " input channels a group, times --groups " +
                  std::to_string(p.groups) + " is not --input's " + std::to_string(p.cin));
    }
  }
  Dhw outputPadding;
  reader.perAxis("--stride", flags.stride, p.rank, 1, p.stride);
  reader.perAxis("--dilation", flags.dilation, p.rank, 1, p.dilation);
  reader.perAxis("--output-padding", flags.outputPadding, p.rank, 0, outputPadding);
  readPadding(reader, flags.padding, p.rank, p);
  if (!flags.outputPadding.empty() && !p.transposed) reader.fail("--output-padding needs --transposed");
  for (int a = 0; a < 3; ++a) {
    if (p.stride[a] < 1) continue;
    const Wide reach = static_cast<Wide>(p.dilation[a]) * (static_cast<Wide>(p.kernel[a]) - 1),
               pads = static_cast<Wide>(p.padBefore[a]) + p.padAfter[a];
    if (p.transposed) {
      p.out[a] = clamped((static_cast<Wide>(p.in[a]) - 1) * p.stride[a] - pads + reach + 1 + outputPadding[a]);
    } else {
      const Wide room = p.in[a] + pads - reach - 1;
      p.out[a] = room < 0 ? 0 : clamped(room / p.stride[a] + 1);
    }
  }
  if (reader.broken().empty()) return p;
  const Status legal = checkProblem(p);
  if (!legal.ok()) reader.fail(legal.error().message);
  return invalidInput(reader.broken());
}

std::string toFlags(const Problem& p) {
  const auto axes = [&](const Dhw& v) {
    std::string s;
    for (int a = 3 - p.rank; a < 3; ++a) s += (s.empty() ? "" : ",") + std::to_string(v[a]);
    return s;
  };
  std::string pads, outputPadding;
  for (int a = 3 - p.rank; a < 3; ++a) {
    pads += (pads.empty() ? "" : ",") + std::to_string(p.padBefore[a]) + "," + std::to_string(p.padAfter[a]);
    const Wide reach = static_cast<Wide>(p.dilation[a]) * (static_cast<Wide>(p.kernel[a]) - 1);
    const Wide least = (static_cast<Wide>(p.in[a]) - 1) * p.stride[a] - p.padBefore[a] - p.padAfter[a] + reach + 1;
    outputPadding += (outputPadding.empty() ? "" : ",") + std::to_string(clamped(p.out[a] - least));
  }
  const std::int64_t groups = std::max<std::int64_t>(1, p.groups);
  const std::string weight = p.transposed ? std::to_string(p.cin) + "," + std::to_string(p.cout / groups)
                                          : std::to_string(p.cout) + "," + std::to_string(p.cin / groups);
  std::string s = "--input " + std::to_string(p.batch) + "," + std::to_string(p.cin) + "," + axes(p.in) + " --weight " +
                  weight + "," + axes(p.kernel) + " --stride " + axes(p.stride) + " --padding " + pads +
                  " --dilation " + axes(p.dilation) + " --groups " + std::to_string(p.groups);
  if (p.transposed) s += " --transposed --output-padding " + outputPadding;
  if (p.math != MathMode::kStrict) s += std::string(" --math ") + toString(p.math);
  if (p.postOps.any()) s += " --post-ops " + toString(p.postOps);
  s += " --layout " + layoutText(p);
  return dtypeText(p) == "f32" ? s : s + " --dtype " + dtypeText(p);
}

Result<PassMask> parsePasses(const std::string& text) {
  PassMask mask;
  std::string broken;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto pass = parsePass(text.substr(begin, end - begin));
    if (pass.ok())
      mask.add(*pass);
    else
      broken += (broken.empty() ? "" : "\n") + toReword(pass.error()).message;
    begin = end + 1;
  }
  if (!broken.empty()) return invalidInput(broken);
  return mask;
}

}  // namespace cubejit
