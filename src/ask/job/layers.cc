#include "job/layers.h"

#include <cctype>
#include <sstream>

#include <toml++/toml.h>

#include "base/check.h"
#include "base/text.h"
#include "base/toml_nesting.h"
#include "job/toml_text.h"

namespace outpace::job {
namespace {

constexpr std::string_view kPrefix = "OUTPACE_";

std::string option_of(std::string_view variable) {
  std::string option;
  for (const char letter : variable) {
    option += letter == '_' ? '-' : static_cast<char>(std::tolower(letter));
  }
  return option;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A number or a truth value stands as it is; all else is a quoted text.
std::string toml_value(const std::string& text) {
  const auto is_unlike_text = [](const toml::table& table) {
    const toml::node* node = table.get("value");
    return table.size() == 1 && (node->is_number() || node->is_boolean());
  };
  try {
    if (!nests_too_deep(text) && is_unlike_text(toml::parse("value = " + text))) {
      return text;
    }
  } catch (const toml::parse_error&) {
    // A text, then.
  }
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

}  // namespace

std::string variable_of(std::string_view option) {
  std::string variable(kPrefix);
  for (const char letter : option) {
    variable += letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
  }
  return variable;
}

std::vector<Given> from_toml(std::string_view text,
                             const std::string& path,
                             const OptionList& options) {
  check_nesting(text, path);
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw toml_error(error, path);
  }
  std::vector<Given> given;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where =
        std::string(path).append(":").append(std::to_string(node.source().begin.line));
    if (options.find(name) == nullptr) {
      throw usage_error(std::string(where)
                            .append(": unknown key '")
                            .append(name)
                            .append("'")
                            .append(suggestion(name, options.names())));
    }
    given.push_back({name, toml_texts(node, where), path});
  }
  return given;
}

std::vector<Given> from_environment(
    const std::map<std::string, std::string, std::less<>>& variables,
    const OptionList& options,
    const std::vector<std::string>& known_elsewhere) {
  std::vector<Given> given;
  for (const auto& [variable, value] : variables) {
    if (!variable.starts_with(kPrefix)) {
      continue;
    }
    const std::string option = option_of(std::string_view(variable).substr(kPrefix.size()));
    if (options.find(option) != nullptr) {
      given.push_back({option, {value}, kEnvironment});
    } else if (!contains(known_elsewhere, option)) {
      const std::string near = nearest(option, options.names());
      throw usage_error("environment: unknown variable '" + variable + "'" +
                        (near.empty() ? "; docs/options.md lists them"
                                      : "; did you mean '" + variable_of(near) + "'?"));
    }
  }
  return given;
}

void set_layers(OptionList& options, const std::vector<std::vector<Given>>& layers) {
  std::map<std::string, Given> last;
  for (const std::vector<Given>& layer : layers) {
    for (const Given& given : layer) {
      last[given.option] = given;
    }
  }
  for (const auto& [name, given] : last) {
    Option* option = options.find(name);
    CHECK(option != nullptr);
    option->set(given.values, given.origin);
  }
}

std::string resolved_toml(const std::string& command, const OptionList& options) {
  std::ostringstream out;
  out << "# outpace " << command << ": every option as this run used it\n";
  for (const Option& option : options.all()) {
    const std::vector<std::string> values = option.values();
    if (values.empty()) {
      continue;
    }
    out << option.name() << " = " << (values.size() > 1 ? "[" : "");
    for (std::size_t i = 0; i < values.size(); ++i) {
      out << (i == 0 ? "" : ", ") << toml_value(values[i]);
    }
    out << (values.size() > 1 ? "]" : "") << "  # "
        << (option.given() ? option.origin() : "default") << "\n";
  }
  return out.str();
}

}  // namespace outpace::job
