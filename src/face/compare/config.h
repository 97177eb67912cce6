// What to compare, as the user wrote it: the TOML file of `outpace compare`.
//
// Rows (policies with what is their own) x traces of delays x seeds; every other key is an option
// of the command that runs a cell. Every part knows its line, for messages.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outpace::compare {

enum class Mode { kLive, kSimulated };

// An option of `outpace train` or `outpace simulate`; several values if it may be repeated.
struct Option {
  std::string name;  // Without dashes.
  std::vector<std::string> values;
  std::size_t line;
};

// A row of the tables, a line of the plot.
struct Row {
  std::string name;  // The policy, unless the user names the row; no two are alike.
  std::string policy;
  std::vector<Option> options;  // Options that replace those of the same name in the comparison.
  std::size_t line;
};

// The number of colours that a reader can tell apart.
inline constexpr std::size_t kGroupRowsMost = 7;

// The plot shows these rows in colour together, in front of all others in grey.
struct Group {
  std::string name;               // May be empty if it is the only one; no two are alike.
  std::vector<std::size_t> rows;  // Rows of Config::rows, at least one, in the order of the legend.
};

struct Trace {
  std::string name;  // Empty: the only one, without delays.
  std::string path;
  std::size_t line;
};

struct Config {
  std::string path;  // The file's, for messages.
  Mode mode;
  std::vector<Row> rows;             // At least one.
  std::vector<std::uint64_t> seeds;  // At least one, no two alike.
  std::vector<Trace> traces;         // At least one, no two names alike.
  std::vector<Option> options;
  std::vector<Group> groups = {};  // For the plot; without any it groups the rows itself.
};

// The long names of the options of a run.
struct KnownOptions {
  std::vector<std::string> live;
  std::vector<std::string> simulated;
};

// `text` is the content of the file at `path`. Throws a usage error "path:line: ..." for whatever
// is wrong with it, unknown keys with the nearest; values of options are not looked at.
[[nodiscard]] Config parse_config(const std::string& text,
                                  const std::string& path,
                                  const KnownOptions& known);

}  // namespace outpace::compare
