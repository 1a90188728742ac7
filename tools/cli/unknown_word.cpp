// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which word is called unknown.
#include "unknown_word.h"

#include <algorithm>
#include <vector>

#include "tiling/words.h"

namespace cubejit::cli {
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
  const std::string near = nearestWord(word, known);
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
