// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which word is called unknown, and which known one is near.
#include "unknown_word.h"

#include <algorithm>
#include <cstddef>

namespace cubejit::cli {
namespace {

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

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t fewest = word.size() / 2 + 1;  // with more changes than that, anything is like anything
  for (const std::string& candidate : known) {
    const std::size_t count = changes(word, candidate);
    if (count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

std::string unknownWord(const CLI::App& app) {
  const CLI::App* at = &app;  // the command whose words were being read
  std::string path;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += (path.empty() ? "" : " ") + at->get_name();
  }
  const std::vector<std::string> unread = app.remaining(true);
  if (unread.empty()) return {};
  const std::string word = unread.front().substr(0, unread.front().find('='));
  const bool isFlag = word.rfind("-", 0) == 0;
  std::vector<std::string> known;
  if (isFlag) {
    for (const CLI::Option* option : at->get_options()) known.push_back(option->get_name());
  } else {
    for (const CLI::App* command : at->get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
      known.push_back(command->get_name());
  }
  const std::string kind = isFlag ? "flag" : known.empty() ? "word" : "command";
  std::string out = "unknown " + kind + " '" + word + "'" + (path.empty() ? "" : " of " + path);
  const std::string near = nearest(word, known);
  if (!near.empty()) return out + "; the nearest is " + near;
  if (isFlag || known.empty()) return out;
  out += "; there are ";
  for (const std::string& name : known) out += (name == known.front() ? "" : ", ") + name;
  return out;
}

std::string emptyOption(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& words = option->results();
    if (std::find(words.begin(), words.end(), std::string()) != words.end()) return option->get_name();
  }
  for (const CLI::App* command : app.get_subcommands()) {
    if (std::string option = emptyOption(*command); !option.empty()) return option;
  }
  return {};
}

}  // namespace cubejit::cli
