#include "cli/arguments.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include <toml++/toml.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "compare/toml_text.h"

namespace outpace::cli {
namespace {

struct Item {
  std::string option;
  std::string value;
  std::string origin;
};

Error unknown(const std::string& what,
              const std::string& word,
              const std::vector<std::string>& known) {
  return usage_error(what + " '" + word + "'" + suggestion(word, known));
}

// What to say after something unknown: there are too many options to list.
std::string or_help(const CLI::App& command, const std::string& near) {
  return near.empty() ? "; see outpace " + command.get_name() + " --help"
                      : "; did you mean '" + near + "'?";
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<Item> from_file(const std::string& path, const CLI::App& command) {
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    throw compare::toml_error(error, path);
  }
  const std::vector<std::string> names = option_names(command);
  std::vector<Item> items;
  for (const auto& [key, node] : table) {
    const std::string option(key.str());
    const std::string where = path + ":" + std::to_string(node.source().begin.line);
    if (!contains(names, option) || option == "config" || option == "help") {
      throw unknown(where + ": unknown key", option, names);
    }
    for (const std::string& value : compare::toml_texts(node, where)) {
      items.push_back({option, value, path});
    }
  }
  return items;
}

constexpr std::string_view kPrefix = "OUTPACE_";

std::string variable_of_option(const std::string& option) {
  std::string variable(kPrefix);
  for (const char letter : option) {
    variable += letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  }
  return variable;
}

std::string option_of_variable(std::string_view variable) {
  std::string option;
  for (const char letter : variable) {
    option += letter == '_' ? '-' : static_cast<char>(std::tolower(letter));
  }
  return option;
}

std::vector<Item> from_environment(const CLI::App& app, const CLI::App& command) {
  // Whoever starts runs may set it, though this build lacks the commands that take it.
  std::vector<std::string> known_anywhere{"launcher"};
  for (const CLI::App* other : app.get_subcommands({})) {
    const auto names = option_names(*other);
    known_anywhere.insert(known_anywhere.end(), names.begin(), names.end());
  }
  const std::vector<std::string> names = option_names(command);
  std::vector<Item> items;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with(kPrefix) || equals == std::string_view::npos) {
      continue;
    }
    const std::string option =
        option_of_variable(text.substr(kPrefix.size(), equals - kPrefix.size()));
    if (contains(names, option)) {
      items.push_back({option, std::string(text.substr(equals + 1)), "environment"});
    } else if (!contains(known_anywhere, option)) {
      const std::string near = nearest(option, names);
      throw usage_error("environment: unknown variable '" + std::string(text.substr(0, equals)) +
                        "'" + or_help(command, near.empty() ? "" : variable_of_option(near)));
    }
  }
  return items;
}

// "--policy" of "--policy=sync" and of "--policy"; empty if the word is no option.
std::string option_of_word(const std::string& word) {
  return word.starts_with("--") ? word.substr(2, word.find('=') - 2) : "";
}

std::string config_file(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--config" && i + 1 < words.size()) {
      return words[i + 1];
    }
    if (words[i].starts_with("--config=")) {
      return words[i].substr(9);
    }
  }
  const char* variable = std::getenv("OUTPACE_CONFIG");
  return variable == nullptr ? "" : variable;
}

// Later layers replace an option of earlier ones wholly, also if it may stand several times.
void add_layer(std::vector<Item>& all, std::vector<Item> layer) {
  std::erase_if(all, [&layer](const Item& item) {
    return std::any_of(layer.begin(), layer.end(), [&item](const Item& newer) {
      return newer.option == item.option;
    });
  });
  all.insert(all.end(), layer.begin(), layer.end());
}

CLI::App* subcommand_of(CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      names.push_back(command->get_name());
    }
  }
  if (words.empty()) {
    throw usage_error("a command is missing" + suggestion("", names) + " (outpace --help)");
  }
  if (words.front().starts_with("-")) {
    return nullptr;  // --help, --version
  }
  for (CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == words.front()) {
      return command;
    }
  }
  throw unknown("unknown command", words.front(), names);
}

void check_words(const std::vector<std::string>& words, const CLI::App& command) {
  const std::vector<std::string> names = option_names(command);
  for (const std::string& word : words) {
    const std::string option = option_of_word(word);
    if (!option.empty() && !contains(names, option)) {
      std::vector<std::string> flags(names.size(), "--");
      for (std::size_t i = 0; i < names.size(); ++i) {
        flags[i] += names[i];
      }
      const std::string near = nearest("--" + option, flags);
      throw usage_error(command.get_name() + ": unknown option '--" + option + "'" +
                        or_help(command, near));
    }
  }
}

// An option that takes one value stands once on the command line.
void check_once(const std::vector<Item>& given, const CLI::App& command) {
  std::set<std::string> seen;
  for (const Item& item : given) {
    const CLI::Option* option = command.get_option_no_throw("--" + item.option);
    if (!seen.insert(item.option).second && option != nullptr &&
        option->get_items_expected_max() == 1) {
      throw usage_error("--" + item.option + " is given twice on the command line");
    }
  }
}

// As TOML has it: what is written can be read again with --config.
std::string to_toml(const std::string& value) {
  const auto is_unlike_text = [](const toml::table& table) {
    const toml::node* node = table.get("value");
    return table.size() == 1 && (node->is_number() || node->is_boolean());
  };
  try {
    if (is_unlike_text(toml::parse("value = " + value))) {
      return value;
    }
  } catch (const toml::parse_error&) {
    // A text, then.
  }
  std::ostringstream out;
  out << toml::value<std::string>(value);
  return out.str();
}

}  // namespace

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back(name);
    }
  }
  return names;
}

void parse_words(CLI::App& command, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 takes its vector from the back.
  try {
    command.parse(words);
  } catch (const CLI::Success&) {
    throw;  // --help and --version.
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what());
  }
}

Origins parse(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = subcommand_of(app, words);
  std::vector<std::string> line;
  Origins origins;
  if (command != nullptr) {
    const std::vector<std::string> own(words.begin() + 1, words.end());
    check_words(own, *command);
    std::vector<Item> items;
    if (const std::string path = config_file(own); !path.empty()) {
      add_layer(items, from_file(path, *command));
    }
    add_layer(items, from_environment(app, *command));
    std::vector<Item> given;
    for (const std::string& word : own) {
      if (const std::string option = option_of_word(word); !option.empty()) {
        given.push_back({option, "", "command line"});
      }
    }
    check_once(given, *command);
    add_layer(items, given);
    line.push_back(words.front());
    for (const Item& item : items) {
      origins[item.option] = item.origin;
      if (item.origin != "command line") {
        line.push_back("--" + item.option + "=" + item.value);
      }
    }
    line.insert(line.end(), own.begin(), own.end());
  } else {
    line = words;
  }
  parse_words(app, std::move(line));
  return origins;
}

std::string resolved_toml(const CLI::App& command, const Origins& origins) {
  std::ostringstream out;
  out << "# outpace " << command.get_name() << ": every option as this run used it\n";
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() || option->get_lnames().front() == "help" ||
        option->get_lnames().front() == "config") {
      continue;
    }
    const std::string& name = option->get_lnames().front();
    const auto origin = origins.find(name);
    std::vector<std::string> values = option->results();
    // "[]" is how CLI11 writes that a repeatable option was not given.
    if (const std::string text = option->get_default_str();
        values.empty() && !text.empty() && text != "[]") {
      values.push_back(text);
    }
    if (values.empty()) {
      continue;
    }
    out << name << " = " << (values.size() > 1 ? "[" : "");
    for (std::size_t i = 0; i < values.size(); ++i) {
      out << (i == 0 ? "" : ", ") << to_toml(values[i]);
    }
    out << (values.size() > 1 ? "]" : "") << "  # "
        << (origin == origins.end() ? "default" : origin->second) << "\n";
  }
  return out.str();
}

}  // namespace outpace::cli
