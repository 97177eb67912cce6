#include "job/options_page.h"

#include <algorithm>
#include <map>

#include "job/layers.h"

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

struct Row {
  std::string name;
  std::string commands;
  std::string rest;  // The cells after the commands.
};

// The rows of each option, by its name. Commands for which it is the same share a row.
using Rows = std::map<std::string, std::vector<Row>>;

// Type, default and meaning.
std::string cells_of(const Option& option) {
  const std::string usual = option.is_required() ? "required" : default_in_words(option);
  return cell(option.type()) + " | " + cell(usual) + " | " + cell(option.help()) + " |\n";
}

void add_row(const std::string& command, const Option& option, Rows& rows) {
  const std::string rest = cells_of(option);
  const std::string name = name_cell(option);
  std::vector<Row>& same = rows[option.name()];
  const auto found = std::ranges::find_if(
      same, [&](const Row& row) { return row.name == name && row.rest == rest; });
  if (found == same.end()) {
    same.push_back({.name = name, .commands = command, .rest = rest});
  } else {
    found->commands += ", " + command;
  }
}

std::string table(const std::string& title, const std::string& what, const Rows& rows) {
  std::string text = "\n## " + title + "\n\n| " + what +
                     " | commands | type | default | what it does |\n|---|---|---|---|---|\n";
  for (const auto& [name, all] : rows) {
    for (const Row& row : all) {
      text += "| " + row.name + " | " + row.commands + " | " + row.rest;
    }
  }
  return text;
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

std::string options_page(const std::vector<std::pair<std::string, const OptionList*>>& commands) {
  Rows options;
  Rows arguments;
  for (const auto& [command, list] : commands) {
    for (const Option& option : list->all()) {
      add_row(command, option, option.is_positional() ? arguments : options);
    }
  }
  return table("Options", "option", options) + table("Arguments", "argument", arguments);
}

std::string option_tables(const std::vector<std::pair<std::string, const OptionList*>>& commands) {
  std::string page;
  for (const auto& [command, options] : commands) {
    page +=
        "\n## " + command + "\n\n| option | type | default | what it does |\n|---|---|---|---|\n";
    for (const Option& option : options->all()) {
      page += "| " + name_cell(option) + " | " + cells_of(option);
    }
  }
  return page;
}

}  // namespace outpace::job
