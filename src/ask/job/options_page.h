// Pages of options: every option of every command, written from the lists that a program reads.

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
// commands has a row for each meaning and default. Pointers are not null; the next one's neither.
[[nodiscard]] std::string options_page(
    const std::vector<std::pair<std::string, const OptionList*>>& commands);

// A table for each command, in the order given, under a heading such as "outpace-lab chaos".
[[nodiscard]] std::string option_tables(
    const std::vector<std::pair<std::string, const OptionList*>>& commands);

}  // namespace outpace::job
