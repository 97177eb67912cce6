// What a program's manual pages and the completions of shells are written from.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "job/option_list.h"

namespace outpace::job {

struct CommandPage {
  std::string name;
  std::string what;           // In one line.
  const OptionList* options;  // Not null; outlives this.
};

struct ProgramPages {
  std::string name;
  std::string what;  // In several lines, perhaps.
  std::string version;
  std::vector<CommandPage> commands;
  // Words that an option of this type may have, where there are more: "POLICY".
  std::map<std::string, std::vector<std::string>> words_of_type{};
};

// The first sentence, and no more than `most` letters.
[[nodiscard]] std::string in_short(const std::string& help, std::size_t most);

}  // namespace outpace::job
