// What a catalogue says of an option of one of its entries, for help and pages.

#pragma once

#include <string>

namespace outpace {

struct OptionDoc {
  std::string name;
  std::string otherwise;  // Default; empty if the option is required.
  std::string meaning;
};

}  // namespace outpace
