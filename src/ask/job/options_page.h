// docs/options.md: every option of every command, written from the lists that the program reads.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job/option_list.h"

namespace outpace::job {

// The default of an option as a person reads it: its own words, or its values with commas between
// them. Empty if it has none, and of a flag.
[[nodiscard]] std::string default_in_words(const Option& option);

// A row for each option, by name, with the commands that take it. An option that differs between
// commands has a row for each meaning and default. Pointers are not null.
[[nodiscard]] std::string options_page(
    const std::vector<std::pair<std::string, const OptionList*>>& commands);

}  // namespace outpace::job
