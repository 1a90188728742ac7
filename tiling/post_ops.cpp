// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the spelling of post-ops: words between commas, numbers of a word behind colons.
#include "cubejit/post_ops.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "tiling/words.h"

namespace cubejit {
namespace {

struct Word {
  Activation activation;
  std::size_t numbers;
};
constexpr Word kWords[] = {{Activation::kRelu, 0}, {Activation::kLeakyRelu, 1}, {Activation::kClip, 2}};

// The shortest text that is read back as the same number.
std::string spelled(float value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::vector<std::string> cut(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool parseNumber(const std::string& text, float& to) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc{} && stop == text.data() + text.size() && std::isfinite(to);
}

// "leaky_relu:0,5": what half of the world calls a number is two post-ops here.
bool isDecimalComma(const std::string& before, const std::string& entry) {
  return before.find(':') != std::string::npos && !entry.empty() && entry.front() >= '0' && entry.front() <= '9';
}

}  // namespace

std::string toString(const PostOps& post) {
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : ",") + word; };
  if (post.bias) add("bias");
  if (post.add) add("add");
  for (const Word& word : kWords) {
    if (word.activation != post.activation) continue;
    add(toString(post.activation));
    if (word.numbers > 0) text += ":" + spelled(post.alpha);
    if (word.numbers > 1) text += ":" + spelled(post.beta);
  }
  return text;
}

Result<PostOps> parsePostOps(const std::string& text) {
  PostOps post;
  if (text.empty()) return post;
  std::string broken;
  const auto fail = [&](const std::string& what) {
    broken += (broken.empty() ? "" : "\n") + ("post_ops = " + text + ": " + what);
  };
  bool activated = false;
  const auto once = [&](bool& flag, const std::string& word, bool done) {
    if (flag) fail(word + " is named twice");
    if (done && !flag) fail(word + " comes too late; the order is bias, add, activation");
    flag = true;
  };
  const std::vector<std::string> entries = cut(text, ',');
  for (std::size_t at = 0; at < entries.size(); ++at) {
    const std::string &entry = entries[at], &before = at > 0 ? entries[at - 1] : text;
    const std::vector<std::string> parts = cut(entry, ':');
    const std::string& name = parts.front();
    if (entry == "bias") {
      once(post.bias, name, post.add || activated);
      continue;
    }
    if (entry == "add") {
      once(post.add, name, activated);
      continue;
    }
    const Word* known = nullptr;
    for (const Word& word : kWords) {
      if (name == toString(word.activation)) known = &word;
    }
    if (known == nullptr) {
      if (isDecimalComma(before, entry))
        fail("a comma ends a post-op; write numbers with a point: " + before + "." + entry);
      else
        fail(unknownWord("post-op", entry, {"bias", "add", "relu", "leaky_relu:SLOPE", "clip:LOW:HIGH"}).message);
      continue;
    }
    if (activated) fail("there are two activations; the last one is " + name);
    activated = true;
    post.activation = known->activation;
    float numbers[2] = {};
    bool right = parts.size() == known->numbers + 1;
    for (std::size_t i = 1; right && i < parts.size(); ++i) right = parseNumber(parts[i], numbers[i - 1]);
    if (!right)
      fail(name + " takes " + std::to_string(known->numbers) + " finite numbers of f32 (at most " +
           spelled(std::numeric_limits<float>::max()) + "), behind colons");
    post.alpha = numbers[0];
    post.beta = numbers[1];
  }
  if (!broken.empty()) return invalidInput(broken);
  return post;
}

}  // namespace cubejit
