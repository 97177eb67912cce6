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

std::vector<std::string> words_of(const Config& config, const Cell& cell) {
  const bool live = config.mode == Mode::kLive;
  const Row& row = config.rows[cell.row];
  std::vector<std::string> words{
      live ? "train" : "simulate", "--policy=" + row.policy, "--seed=" + std::to_string(cell.seed)};
  if (const std::string& path = config.traces[cell.trace].path; !path.empty()) {
    words.push_back("--delays=" + path);
  }
  const auto options = options_of(config, row);
  if (!live && !options.contains("network")) {
    words.emplace_back("--learn=mlp");
  }
  for (const auto& [name, option] : options) {
    const bool network = !live && name == "network";
    for (const std::string& value : option->values) {
      if (!network) {
        words.push_back(std::string("--").append(name).append("=").append(value));
      } else if (value != "none") {
        words.push_back("--learn=" + value);
      }
    }
  }
  return words;
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
        cell.words = words_of(config, cell);
        cells.push_back(std::move(cell));
      }
    }
  }
  return cells;
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
