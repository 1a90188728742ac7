// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which word is near which: names of other projects first, then letters.
#include "tiling/words.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace cubejit {
namespace {

// What PyTorch, oneDNN, benchdnn, cuDNN, NumPy and Ascend's toolkit call what is called otherwise here. One table for words of all kinds: which of
// the meanings is meant those that are known decide.
struct Synonym {
  const char *theirs, *ours;
};
constexpr Synonym kSynonyms[] = {
    // types; of those that are missing the nearest
    {"fp32", "f32"},
    {"float32", "f32"},
    {"float", "f32"},
    {"single", "f32"},
    {"fp64", "f32"},
    {"float64", "f32"},
    {"double", "f32"},
    {"f64", "f32"},
    {"fp16", "f16"},
    {"float16", "f16"},
    {"half", "f16"},
    {"bfloat16", "bf16"},
    {"bfloat", "bf16"},
    {"tf32", "hf32"},
    {"hfloat32", "hf32"},
    // layouts
    {"nchw", "ncdhw"},
    {"ncw", "ncdhw"},
    {"ncl", "ncdhw"},
    {"nc", "ncdhw"},
    {"oihw", "ncdhw"},
    {"oidhw", "ncdhw"},
    {"plain", "ncdhw"},
    {"contiguous", "ncdhw"},
    {"contiguous_format", "ncdhw"},
    {"channels_first", "ncdhw"},
    {"nhwc", "ndhwc"},
    {"nwc", "ndhwc"},
    {"nlc", "ndhwc"},
    {"channels_last", "ndhwc"},
    {"channels_last_3d", "ndhwc"},
    {"channels-last", "ndhwc"},
    {"odhwi", "ndhwc"},
    {"nc1hwc0", "ndc1hwc0"},
    {"nchw16c", "ndc1hwc0"},
    {"ncdhw16c", "ndc1hwc0"},
    {"nchw8c", "ndc1hwc0"},
    {"ncdhw8c", "ndc1hwc0"},
    {"blocked", "ndc1hwc0"},
    {"fractal_z", "fractal_z_3d"},
    // passes
    {"forward", "y"},
    {"fwd", "y"},
    {"fwd_d", "y"},
    {"fwd_b", "y"},
    {"fwd_i", "y"},
    {"fprop", "y"},
    {"inference", "y"},
    {"backward_data", "dx"},
    {"bwd_d", "dx"},
    {"bwd_data", "dx"},
    {"dgrad", "dx"},
    {"backward_weights", "dw"},
    {"backward_weight", "dw"},
    {"backward_filter", "dw"},
    {"bwd_w", "dw"},
    {"bwd_weights", "dw"},
    {"bwd_filter", "dw"},
    {"wgrad", "dw"},
    {"backward_bias", "db"},
    {"bwd_bias", "db"},
    {"bgrad", "db"},
    {"backward", "dx"},
    {"bwd", "dx"},
    {"bwd_wb", "dw"},
    // tensors; results name their passes, too
    {"src", "x"},
    {"input", "x"},
    {"fmap", "x"},
    {"weights", "w"},
    {"weight", "w"},
    {"wei", "w"},
    {"filter", "w"},
    {"dst", "y"},
    {"output", "y"},
    {"out", "y"},
    {"diff_dst", "dy"},
    {"grad_output", "dy"},
    {"gradoutput", "dy"},
    {"out_backprop", "dy"},
    {"diff_src", "dx"},
    {"grad_input", "dx"},
    {"gradinput", "dx"},
    {"diff_weights", "dw"},
    {"grad_weight", "dw"},
    {"gradweight", "dw"},
    {"diff_bias", "db"},
    {"grad_bias", "db"},
    {"gradbias", "db"},
    // post-ops
    {"sum", "add"},
    {"residual", "add"},
    {"eltwise_relu", "relu"},
    {"leakyrelu", "leaky_relu"},
    {"lrelu", "leaky_relu"},
    {"prelu", "leaky_relu"},
    {"clamp", "clip"},
    {"hardtanh", "clip"},
    {"relu6", "clip"},
    {"eltwise_clip", "clip"},
    // ISA levels, backends, sums
    {"avx512_core", "avx512"},
    {"avx512f", "avx512"},
    {"avx512_core_bf16", "avx512_bf16"},
    {"sve", "sve256"},
    {"sve_256", "sve256"},
    {"asimd", "neon"},
    {"jit", "xbyak"},
    {"orc", "llvm"},
    {"reference", "interpreter"},
    {"ref", "interpreter"},
    {"exact", "strict"},
    {"keep", "strict"},
    {"fast", "relaxed"},
    {"wino", "winograd"},
    {"depthwise", "grouped"}};

std::size_t changes(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// Without what follows for people.
std::string bare(const std::string& known) { return lowerCase(known.substr(0, known.find_first_of(" :"))); }

}  // namespace

std::string lowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string nearestWord(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 64;  // no word is longer; changes are counted in memory and time of its square
  const std::string asked = lowerCase(word);
  if (asked.size() > kLongest) return {};
  const auto shown = [](const std::string& entry) { return entry.substr(0, entry.find(' ')); };
  for (const Synonym& synonym : kSynonyms) {
    if (asked != synonym.theirs) continue;
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& k) { return bare(k) == synonym.ours; });
    if (found != known.end()) return shown(*found);
  }
  std::string best;
  std::size_t fewest = word.size() / 2 + 1;  // with more changes than that, anything is like anything
  for (const std::string& candidate : known) {
    const std::size_t count = changes(asked, bare(candidate));
    if (count < fewest) {
      fewest = count;
      best = shown(candidate);
    }
  }
  return best;
}

std::string wordsInstead(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearestWord(word, known);
  std::string text = near.empty() ? "" : "; the nearest is " + near;
  for (const std::string& name : known) text += (&name == &known.front() ? "; there are " : ", ") + name;
  return text;
}

Error unknownWord(const std::string& what, const std::string& word, const std::vector<std::string>& known,
                  Stage stage) {
  return invalidInput("unknown " + what + " '" + word + "'" + wordsInstead(word, known), stage);
}

}  // namespace cubejit
