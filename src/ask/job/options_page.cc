#include "job/options_page.h"

namespace outpace::job {
namespace {

// A bar ends a cell of the table.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    escaped += letter == '|' ? "\\|" : std::string(1, letter);
  }
  return escaped;
}

std::string name_cell(const Option& option) {
  const std::string letter =
      option.letter() == '\0' ? "" : std::string("`-") + option.letter() + "`, ";
  return letter + "`" + option.title() + "`";
}

}  // namespace

std::string default_in_words(const Option& option) {
  if (!option.default_words().empty() || option.is_flag()) {
    return option.default_words();
  }
  std::string text;
  for (const std::string& value : option.defaults()) {
    text += (text.empty() ? "" : ",") + value;
  }
  return text;
}

std::string option_tables(const std::vector<std::pair<std::string, const OptionList*>>& commands) {
  std::string page;
  for (const auto& [command, options] : commands) {
    page += "\n## " + command + "\n\n";
    if (options->all().empty()) {
      page += "No options.\n";
      continue;
    }
    page += "| option | type | default | what it does |\n|---|---|---|---|\n";
    for (const Option& option : options->all()) {
      const std::string usual = option.is_required() ? "required" : default_in_words(option);
      page += "| " + name_cell(option) + " | " + option.type() + " | " + cell(usual) + " | " +
              cell(option.help()) + " |\n";
    }
  }
  return page;
}

}  // namespace outpace::job
