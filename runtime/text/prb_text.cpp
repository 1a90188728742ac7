// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how benchdnn's descriptor is read: letters and numbers in any order, lower axes copy the next higher one, padding or
// output derived from each other, dilation counted from 0.
#include <charconv>
#include <map>

#include "runtime/text/problem_text.h"

namespace cubejit {
namespace {

// Keeps sums of products of two values inside 64 bits.
constexpr std::int64_t kMostHere = std::int64_t{1} << 30;

using Values = std::map<std::string, std::int64_t>;

// Fills d, h, w of one letter: what is missing copies the axis before it.
Dhw axesOf(const Values& values, char letter, int rank, std::int64_t missing) {
  Dhw out;
  std::int64_t last = missing;
  static constexpr char kAxes[] = {'d', 'h', 'w'};
  for (int a = 0; a < 3; ++a) {
    const bool exists = a >= 3 - rank;
    const auto found = values.find(std::string(1, letter) + kAxes[a]);
    if (found != values.end()) last = found->second;
    out[a] = exists ? last : missing;
  }
  return out;
}

bool given(const Values& values, char letter) {
  return values.count(std::string(1, letter) + "d") + values.count(std::string(1, letter) + "h") +
             values.count(std::string(1, letter) + "w") >
         0;
}

Result<Values> tokens(const std::string& text, std::string& name) {
  static const char* const kKeys[] = {"mb", "ic", "oc", "id", "ih", "iw", "od", "oh", "ow", "kd", "kh",
                                      "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw", "g"};
  Values values;
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] == '_') {
      ++i;
      continue;
    }
    if (text[i] == 'n' && i + 1 < text.size() && text[i + 1] == '"') {
      const std::size_t end = text.find('"', i + 2);
      if (end == std::string::npos)
        return invalidInput("--prb " + text + ": the name after n is not closed with a quote");
      name = text.substr(i + 2, end - i - 2);
      i = end + 1;
      continue;
    }
    std::string key;
    for (const char* candidate : kKeys) {
      if (text.compare(i, std::string(candidate).size(), candidate) == 0) {
        key = candidate;
        break;
      }
    }
    if (key.empty()) return invalidInput("--prb " + text + ": nothing known begins at '" + text.substr(i) + "'");
    i += key.size();
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + i, text.data() + text.size(), value);
    if (error != std::errc{})
      return invalidInput("--prb " + text + ": " + key + " needs a whole number from -2^63 to 2^63 - 1");
    values[key] = value;
    i = static_cast<std::size_t>(stop - text.data());
  }
  return values;
}

}  // namespace

Result<Problem> parsePrb(const std::string& text) {
  Problem p;
  CUBEJIT_TRY(values, tokens(text, p.name));
  const auto get = [&](const char* key, std::int64_t missing) {
    const auto found = values.find(key);
    return found == values.end() ? missing : found->second;
  };
  std::string broken;
  for (const char* key : {"ic", "oc"}) {
    if (values.count(key) == 0)
      broken += std::string(broken.empty() ? "" : "\n") + "--prb " + text + ": " + key + " is missing";
  }
  if (!given(values, 'i'))
    broken +=
        std::string(broken.empty() ? "" : "\n") + "--prb " + text + ": the input extent (id, ih or iw) is missing";
  if (!given(values, 'k'))
    broken +=
        std::string(broken.empty() ? "" : "\n") + "--prb " + text + ": the kernel extent (kd, kh or kw) is missing";
  if (!broken.empty()) return invalidInput(broken);
  p.rank = 1;
  for (const auto& [key, value] : values) {
    const bool extent = key != "mb" && key != "g" && key != "ic" && key != "oc";
    if (extent && (value > kMostHere || value < -kMostHere))
      return invalidInput("--prb " + text + ": " + key + " = " + std::to_string(value) + " must be from -2^30 to 2^30");
    if (key.size() == 2 && key[1] == 'd' && key != "id" && key[0] != 'm') p.rank = 3;
    if (key == "id") p.rank = 3;
    if (key.size() == 2 && key[1] == 'h' && p.rank < 2) p.rank = 2;
  }
  p.batch = get("mb", 2);
  p.groups = get("g", 1);
  p.cin = get("ic", 0);
  p.cout = get("oc", 0);
  p.in = axesOf(values, 'i', p.rank, 1);
  p.kernel = axesOf(values, 'k', p.rank, 1);
  p.stride = axesOf(values, 's', p.rank, 1);
  const Dhw dilation = axesOf(values, 'd', p.rank, 0);
  p.padBefore = axesOf(values, 'p', p.rank, 0);
  const Dhw out = axesOf(values, 'o', p.rank, 1);
  for (int a = 0; a < 3; ++a) {
    if (p.stride[a] < 1) return invalidInput("--prb " + text + ": strides must be at least 1");
    if (dilation[a] < 0) return invalidInput("--prb " + text + ": dilations must be at least 0 (0 = none)");
    p.dilation[a] = dilation[a] + 1;
    const std::int64_t reach = p.dilation[a] * (p.kernel[a] - 1);
    if (given(values, 'o')) {
      p.out[a] = out[a];
      const std::int64_t needed = (out[a] - 1) * p.stride[a] + reach + 1 - p.in[a];  // all padding on the axis
      if (!given(values, 'p')) p.padBefore[a] = needed > 0 ? needed / 2 : 0;
      p.padAfter[a] = needed - p.padBefore[a] > 0 ? needed - p.padBefore[a] : 0;
    } else {
      p.padAfter[a] = p.padBefore[a];
      const std::int64_t room = p.in[a] + 2 * p.padBefore[a] - reach - 1;
      p.out[a] = room < 0 ? 0 : room / p.stride[a] + 1;
    }
  }
  return p;
}

}  // namespace cubejit
