#include "job/options_page.h"

#include <algorithm>
#include <map>

#include "job/layers.h"

namespace outpace::job {
namespace {

constexpr const char* kHead =
    "# Options\n"
    "\n"
    "This page lists every option, with the commands that take it. `outpace options` writes it\n"
    "(`make docs`); `outpace COMMAND --help` lists the options of one command.\n"
    "\n"
    "A value comes from, in increasing order of precedence: the default, the TOML file of "
    "`--config`,\n"
    "the environment, the command line. `--policy sync` is `policy = \"sync\"` in the file and\n"
    "`OUTPACE_POLICY=sync` in the environment; the variable of `--evaluate-every` is\n"
    "`OUTPACE_EVALUATE_EVERY`. `--resolved FILE` takes all values from a file such as the\n"
    "`config.toml` of a run, and ignores the environment.\n"
    "\n"
    "An option that differs between commands has a row for each meaning and default.\n";

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

void add_row(const std::string& command, const Option& option, Rows& rows) {
  const std::string usual = option.is_required() ? "required" : default_in_words(option);
  const std::string rest =
      cell(option.type()) + " | " + cell(usual) + " | " + cell(option.help()) + " |\n";
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
  return kHead + table("Options", "option", options) + table("Arguments", "argument", arguments);
}

}  // namespace outpace::job
