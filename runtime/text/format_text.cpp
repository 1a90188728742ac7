// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the names of types and layouts and how flags give them to tensors.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "runtime/text/problem_text.h"
#include "tiling/no_throw.h"
#include "tiling/whole_number.h"
#include "tiling/words.h"

namespace cubejit {
namespace {

// "NAME", "TENSOR=NAME", separated by commas.
std::vector<std::pair<std::string, std::string>> entriesOf(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string entry = text.substr(begin, end - begin);
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos)
      out.emplace_back("", entry);
    else
      out.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    begin = end + 1;
  }
  return out;
}

// A layout and, where it is blocked, how many channels a block has (0: what fills 32 bytes).
struct NamedLayout {
  Layout layout = Layout::kNcdhw;
  std::int64_t c0 = 0;
};

Result<Layout> layoutNamed(const std::string& text) {
  if (text == "ncdhw" || text == "nchw" || text == "ncl" || text == "oidhw") return Layout::kNcdhw;
  if (text == "ndhwc" || text == "nhwc" || text == "nlc" || text == "odhwi") return Layout::kNdhwc;
  if (text == "ndc1hwc0" || text == "nc1hwc0") return Layout::kNdc1hwc0;
  if (text == "fractal_z_3d" || text == "fractal_z") return Layout::kFractalZ3d;
  return unknownWord(
      "layout", text,
      {"ncdhw (plain)", "ndhwc (channels-last)", "ndc1hwc0 (blocked activations; ndc1hwc16: 16 channels a block)",
       "fractal_z_3d (blocked weights; fractal_z_3d:16)"});
}

// Blocks of another size than what fills 32 bytes: "ndc1hwc16", "fractal_z_3d:16".
Result<NamedLayout> parseBlockedLayout(const std::string& text) {
  for (const auto& [prefix, layout] : {std::pair{"ndc1hwc", Layout::kNdc1hwc0},
                                       {"nc1hwc", Layout::kNdc1hwc0},
                                       {"fractal_z_3d:", Layout::kFractalZ3d}}) {
    const std::size_t length = std::string(prefix).size();
    const std::string digits = text.compare(0, length, prefix) == 0 ? text.substr(length) : "";
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    constexpr std::int64_t kMostChannels = 999;
    const auto channels = wholeNumber<std::int64_t>(digits);
    if (channels && *channels <= kMostChannels) return NamedLayout{layout, *channels};
    return invalidInput("layout '" + text + "' has blocks of " + digits + " channels; they must have 1 to " +
                        std::to_string(kMostChannels));
  }
  CUBEJIT_TRY(layout, layoutNamed(text));
  return NamedLayout{layout, 0};
}

std::string layoutName(const TensorFormat& f) {
  const std::string name = toString(f.layout);
  if (f.c0 == 0 || (f.layout != Layout::kNdc1hwc0 && f.layout != Layout::kFractalZ3d)) return name;
  return f.layout == Layout::kFractalZ3d ? name + ":" + std::to_string(f.c0)
                                         : name.substr(0, name.size() - 1) + std::to_string(f.c0);
}

void setLayout(TensorFormat& f, const NamedLayout& named) {
  f.layout = named.layout;
  f.c0 = named.c0;
}

// Blocks of another size than the type's usual one are said of each activation.
void setActivations(Problem& p, const NamedLayout& named) {
  p.layout = named.layout;
  if (named.c0 == 0) return;
  for (const TensorId t : kTensorIds) {
    if (!isActivation(t)) continue;
    TensorFormat format = formatOf(p, t);
    setLayout(format, named);
    p.formats[static_cast<std::size_t>(t)] = format;
  }
}

Status apply(Problem& p, const std::string& dtypes, const std::string& layouts) {
  std::string broken;
  const auto note = [&](const Error& e) { broken += (broken.empty() ? "" : "\n") + e.message; };
  const auto change = [&](const std::string& tensor, auto set) {
    const auto t = parseTensor(tensor);
    if (!t.ok()) return note(t.error());
    TensorFormat format = formatOf(p, *t);
    set(format);
    p.formats[static_cast<std::size_t>(*t)] = format;
  };
  // Names for all tensors first, whatever the order they are given in.
  for (const bool single : {false, true}) {
    for (const auto& [tensor, name] : entriesOf(dtypes)) {
      if (tensor.empty() == single) continue;
      const auto type = parseDType(name);
      if (!type.ok())
        note(type.error());
      else if (single)
        change(tensor, [&](TensorFormat& f) { f.dtype = *type; });
      else
        p.dtype = *type;
    }
    for (const auto& [tensor, name] : entriesOf(layouts)) {
      if (tensor.empty() == single) continue;
      const auto layout = parseBlockedLayout(name);
      if (!layout.ok())
        note(layout.error());
      else if (single)
        change(tensor, [&](TensorFormat& f) { setLayout(f, *layout); });
      else
        setActivations(p, *layout);
    }
  }
  if (!broken.empty()) return invalidInput(broken);
  dropUsualFormats(p);
  return Unit{};
}

}  // namespace

Result<DType> parseDType(const std::string& text) {
  return withoutThrowing(Stage::kProblem, [&] {
    return parseWord("dtype", text, std::array{DType::kF32, DType::kF16, DType::kBf16, DType::kHf32, DType::kHf32Low});
  });
}

Result<Pass> parsePass(const std::string& text) {
  return withoutThrowing(Stage::kProblem, [&] { return parseWord("pass", text, kPasses); });
}

Result<TensorId> parseTensor(const std::string& text) {
  return withoutThrowing(Stage::kProblem, [&] { return parseWord("tensor", text, kTensorIds); });
}

void dropUsualFormats(Problem& p) {
  Problem bare = p;
  bare.formats = {};
  for (const TensorId t : kTensorIds) {
    auto& format = p.formats[static_cast<std::size_t>(t)];
    if (format && isBias(t)) format->layout = formatOf(bare, t).layout, format->c0 = 0;
    if (format == formatOf(bare, t)) format.reset();
  }
}

Status applyFormats(Problem& p, const std::string& dtypes, const std::string& layouts) {
  return withoutThrowing(Stage::kProblem, [&] { return apply(p, dtypes, layouts); });
}

std::string dtypeText(const Problem& p) {
  Problem bare = p;
  bare.formats = {};
  std::string text = toString(p.dtype);
  for (const TensorId t : kTensorIds) {
    const DType type = formatOf(p, t).dtype;
    if (type != formatOf(bare, t).dtype) text += std::string(",") + toString(t) + "=" + toString(type);
  }
  return text;
}

std::string layoutText(const Problem& p) {
  Problem bare = p;
  bare.formats = {};
  std::string text = toString(p.layout);
  for (const TensorId t : kTensorIds) {
    const std::string layout = layoutName(formatOf(p, t));
    if (t != TensorId::kDb && layout != layoutName(formatOf(bare, t)))
      text += std::string(",") + toString(t) + "=" + layout;
  }
  return text;
}

}  // namespace cubejit
