#include "compare/run_list.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace outpace::compare {
namespace {

// Names of folders, no two alike.
std::vector<std::string> folders(const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 60;
  std::vector<std::string> found;
  for (const std::string& name : names) {
    std::string folder = name.substr(0, kLongest);
    for (char& letter : folder) {
      const bool plain = std::isalnum(static_cast<unsigned char>(letter)) != 0;
      letter = plain || letter == '_' ? letter : '-';
    }
    std::string distinct = folder;
    for (int number = 2; std::ranges::find(found, distinct) != found.end(); ++number) {
      distinct = folder + "-" + std::to_string(number);
    }
    found.push_back(distinct);
  }
  return found;
}

// The options of a row, its own before the comparison's.
std::map<std::string, const Option*> options_of(const Config& config, const Row& row) {
  std::map<std::string, const Option*> options;
  for (const Option& option : config.options) {
    options[option.name] = &option;
  }
  for (const Option& option : row.options) {
    options[option.name] = &option;
  }
  return options;
}

std::vector<job::Given> given_of(const Config& config, const Cell& cell) {
  const bool live = config.mode == Mode::kLive;
  const Row& row = config.rows[cell.row];
  std::vector<job::Given> given{{"policy", {row.policy}, config.path},
                                {"seed", {std::to_string(cell.seed)}, config.path}};
  if (const std::string& path = config.traces[cell.trace].path; !path.empty()) {
    given.push_back({"delays", {path}, config.path});
  }
  const auto options = options_of(config, row);
  if (!live && !options.contains("network")) {
    given.push_back({"learn", {"mlp"}, config.path});
  }
  for (const auto& [name, option] : options) {
    if (live || name != "network") {
      given.push_back({name, option->values, config.path});
    } else if (option->values != std::vector<std::string>{"none"}) {
      given.push_back({"learn", option->values, config.path});
    }
  }
  return given;
}

// Whether the message names --option, and not only an option whose name begins alike.
bool names(std::string_view message, const std::string& option) {
  const std::string word = "--" + option;
  for (std::size_t at = message.find(word); at != std::string_view::npos;
       at = message.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool goes_on =
        end < message.size() &&
        (message[end] == '-' || std::isalnum(static_cast<unsigned char>(message[end])) != 0);
    if (!goes_on) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Cell> cells_of(const Config& config) {
  std::vector<std::string> row_names;
  for (const Row& row : config.rows) {
    row_names.push_back(row.name);
  }
  std::vector<std::string> trace_names;
  for (const Trace& trace : config.traces) {
    trace_names.push_back(trace.name.empty() ? "no-trace" : trace.name);
  }
  const std::vector<std::string> row_folders = folders(row_names);
  const std::vector<std::string> trace_folders = folders(trace_names);
  std::vector<Cell> cells;
  for (const std::uint64_t seed : config.seeds) {
    for (std::size_t trace = 0; trace < config.traces.size(); ++trace) {
      for (std::size_t row = 0; row < config.rows.size(); ++row) {
        Cell cell{.row = row, .trace = trace, .seed = seed};
        cell.place =
            trace_folders[trace] + "/" + row_folders[row] + "/seed-" + std::to_string(seed);
        cell.command = config.mode == Mode::kLive ? "train" : "simulate";
        cell.options = given_of(config, cell);
        cells.push_back(std::move(cell));
      }
    }
  }
  return cells;
}

std::vector<std::string> identity_of(const Cell& cell) {
  std::vector<std::string> texts{cell.command};
  for (const job::Given& given : cell.options) {
    for (const std::string& value : given.values) {
      texts.push_back(std::string("--").append(given.option).append("=").append(value));
    }
  }
  return texts;
}

std::string name_of(const Config& config, const Cell& cell) {
  const std::string& trace = config.traces[cell.trace].name;
  return (trace.empty() ? "" : trace + ", ") + config.rows[cell.row].name + ", seed " +
         std::to_string(cell.seed);
}

std::size_t line_of(const Config& config, const Cell& cell, const std::string& message) {
  if (names(message, "delays") || message.starts_with(config.traces[cell.trace].path + ":")) {
    return config.traces[cell.trace].line;
  }
  const Row& row = config.rows[cell.row];
  const auto options = options_of(config, row);
  std::size_t first = message.size();
  std::size_t line = row.line;
  for (const auto& [name, option] : options) {
    const std::string flag = name == "network" && config.mode == Mode::kSimulated ? "learn" : name;
    const std::size_t at = message.find("--" + flag);
    if (at < first && names(message, flag)) {
      first = at;
      line = option->line;
    }
  }
  for (const auto& [name, option] : options) {
    for (const std::string& value : option->values) {
      if (first == message.size() && message.find("'" + value + "'") != std::string::npos) {
        return option->line;
      }
    }
  }
  return line;
}

}  // namespace outpace::compare
