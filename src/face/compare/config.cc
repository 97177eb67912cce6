#include "compare/config.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "job/toml_text.h"

namespace outpace::compare {
namespace {

// What the comparison itself says to a cell, or what would let cells spoil each other.
const std::set<std::string> kNotForCells{"policy",
                                         "seed",
                                         "delays",
                                         "learn",
                                         "out",
                                         "json",
                                         "trace",
                                         "config",
                                         "resolved",
                                         "help",
                                         "listen"};
const std::set<std::string> kOfComparison{"mode", "policies", "seeds", "delays"};
const std::set<std::string> kOfRow{"policy", "name"};
const std::set<std::string> kOfGroup{"name", "rows"};

std::size_t line_of(const toml::node& node) {
  return node.source().begin.line;
}

class Reader {
 public:
  Reader(const std::string& path, const KnownOptions& known) : path_(path), known_(known) {}

  Config read(const toml::table& file) {
    const toml::table& comparison = sections(file);
    Config config{.path = path_, .mode = mode(comparison)};
    for (const std::string& name : config.mode == Mode::kLive ? known_.live : known_.simulated) {
      if (!kNotForCells.contains(name)) {
        options_.insert(name);
      }
    }
    options_.insert("network");
    config.options = options(comparison, kOfComparison);
    config.seeds = seeds(comparison);
    config.traces = traces(comparison);
    config.rows = listed_rows(comparison);
    if (const toml::node* rows = file.get("policy")) {
      add_own_rows(*rows, config.rows);
    }
    if (config.rows.empty()) {
      throw wrong(line_of(comparison),
                  "policies is missing; such as policies = [\"sync\", \"async\"]");
    }
    if (const toml::node* groups = file.get("group")) {
      config.groups = groups_of(*groups, config.rows);
    }
    return config;
  }

 private:
  [[nodiscard]] std::string place(std::size_t line) const {
    return path_ + ":" + std::to_string(line);
  }
  [[nodiscard]] Error wrong(std::size_t line, const std::string& what) const {
    return usage_error(place(line) + ": " + what);
  }

  [[nodiscard]] Error unknown_key(const toml::key& key, const std::set<std::string>& known) const {
    const std::string word(key.str());
    const std::vector<std::string> names(known.begin(), known.end());
    const std::string near = nearest(word, names);
    return wrong(key.source().begin.line,
                 "unknown key '" + word + "'" +
                     (near.empty() ? "; see docs/compare.md" : "; did you mean '" + near + "'?"));
  }

  [[nodiscard]] const toml::table& sections(const toml::table& file) const {
    for (const auto& [key, node] : file) {
      if (key.str() != "compare" && key.str() != "policy" && key.str() != "group") {
        throw wrong(key.source().begin.line,
                    "unknown key '" + std::string(key.str()) +
                        "'; the file has [compare], [[policy]] and [[group]]");
      }
    }
    const toml::node* comparison = file.get("compare");
    if (comparison == nullptr) {
      throw wrong(1, "the table [compare] is missing");
    }
    if (!comparison->is_table()) {
      throw wrong(line_of(*comparison), "compare must be a table: [compare]");
    }
    return *comparison->as_table();
  }

  [[nodiscard]] Mode mode(const toml::table& comparison) const {
    const toml::node* node = comparison.get("mode");
    if (node == nullptr) {
      throw wrong(line_of(comparison), "mode is missing; it takes \"live\" or \"simulated\"");
    }
    const std::string text = job::toml_text(*node, place(line_of(*node)));
    if (text != "live" && text != "simulated") {
      throw wrong(line_of(*node), "mode is '" + text + "'; it takes live or simulated");
    }
    return text == "live" ? Mode::kLive : Mode::kSimulated;
  }

  // All keys but `own`.
  [[nodiscard]] std::vector<Option> options(const toml::table& table,
                                            const std::set<std::string>& own) const {
    std::vector<Option> found;
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (own.contains(name)) {
        continue;
      }
      if (!options_.contains(name)) {
        std::set<std::string> known = options_;
        known.insert(own.begin(), own.end());
        throw unknown_key(key, known);
      }
      const std::size_t line = line_of(node);
      found.push_back({.name = name, .values = job::toml_texts(node, place(line)), .line = line});
    }
    return found;
  }

  [[nodiscard]] std::vector<std::uint64_t> seeds(const toml::table& comparison) const {
    const toml::node* node = comparison.get("seeds");
    if (node == nullptr) {
      throw wrong(line_of(comparison), "seeds is missing; such as seeds = [1, 2, 3]");
    }
    std::vector<std::uint64_t> found;
    for (const std::string& text : job::toml_texts(*node, place(line_of(*node)))) {
      const auto seed = parse_count(text);
      if (!seed) {
        throw wrong(line_of(*node), "seeds has '" + text + "'; it takes whole numbers from 0 on");
      }
      if (std::ranges::find(found, *seed) != found.end()) {
        throw wrong(line_of(*node), "seeds has " + text + " twice");
      }
      found.push_back(*seed);
    }
    if (found.empty()) {
      throw wrong(line_of(*node), "seeds is empty; such as seeds = [1, 2, 3]");
    }
    return found;
  }

  void add_trace(std::vector<Trace>& traces, Trace trace) const {
    if (trace.name.empty() || trace.path.empty()) {
      throw wrong(trace.line, "a trace of delays has neither an empty name nor an empty path");
    }
    if (std::ranges::find(traces, trace.name, &Trace::name) != traces.end()) {
      throw wrong(trace.line,
                  "two traces are called '" + trace.name + "'; name them: delays = {NAME = PATH}");
    }
    traces.push_back(std::move(trace));
  }

  [[nodiscard]] std::vector<Trace> traces(const toml::table& comparison) const {
    const toml::node* node = comparison.get("delays");
    if (node == nullptr) {
      return {{.name = "", .path = "", .line = line_of(comparison)}};
    }
    std::vector<Trace> found;
    if (const toml::table* named = node->as_table()) {
      for (const auto& [key, path] : *named) {
        const std::size_t line = line_of(path);
        add_trace(found, {std::string(key.str()), job::toml_text(path, place(line)), line});
      }
    } else {
      for (const std::string& path : job::toml_texts(*node, place(line_of(*node)))) {
        add_trace(found, {stem(path), path, line_of(*node)});
      }
    }
    if (found.empty()) {
      throw wrong(line_of(*node), "delays is empty; leave it out to compare without a trace");
    }
    return found;
  }

  // "traces/calm.csv" -> "calm".
  [[nodiscard]] static std::string stem(const std::string& path) {
    const std::string file = path.substr(path.rfind('/') + 1);
    return file.substr(0, file.rfind('.'));
  }

  [[nodiscard]] std::vector<Row> listed_rows(const toml::table& comparison) const {
    std::vector<Row> rows;
    const toml::node* node = comparison.get("policies");
    if (node == nullptr) {
      return rows;
    }
    const auto add = [&](const toml::node& element) {
      const std::size_t line = line_of(element);
      const std::string policy = job::toml_text(element, place(line));
      if (std::ranges::find(rows, policy, &Row::name) != rows.end()) {
        throw wrong(line, "policies has '" + policy + "' twice");
      }
      rows.push_back({.name = policy, .policy = policy, .options = {}, .line = line});
    };
    if (const toml::array* policies = node->as_array()) {
      policies->for_each(add);
    } else {
      add(*node);
    }
    return rows;
  }

  // [[name]].
  [[nodiscard]] const toml::array& tables_of(const toml::node& node,
                                             const std::string& name) const {
    const toml::array* tables = node.as_array();
    if (tables == nullptr || !tables->is_homogeneous(toml::node_type::table)) {
      throw wrong(line_of(node), name + " must be tables: [[" + name + "]]");
    }
    return *tables;
  }

  // [[policy]]: what is its own of a policy in the list, or one more row.
  void add_own_rows(const toml::node& node, std::vector<Row>& rows) const {
    std::set<std::string> seen;
    for (const toml::node& element : tables_of(node, "policy")) {
      const toml::table& table = *element.as_table();
      const std::size_t line = line_of(table);
      const toml::node* policy = table.get("policy");
      if (policy == nullptr) {
        throw wrong(line, "[[policy]] without a policy; such as policy = \"ssp:s=3\"");
      }
      Row row{.policy = job::toml_text(*policy, place(line_of(*policy))), .line = line};
      const toml::node* name = table.get("name");
      row.name = name == nullptr ? row.policy : job::toml_text(*name, place(line_of(*name)));
      row.options = options(table, kOfRow);
      if (!seen.insert(row.name).second) {
        throw wrong(line, "two [[policy]] are called '" + row.name + "'; give one another name");
      }
      const auto listed = std::ranges::find(rows, row.name, &Row::name);
      if (listed == rows.end()) {
        rows.push_back(std::move(row));
      } else if (listed->policy == row.policy) {
        *listed = std::move(row);
      } else {
        throw wrong(line, "the name '" + row.name + "' is that of another policy in policies");
      }
    }
  }

  // [[group]]: rows that the plot shows in colour together.
  [[nodiscard]] std::vector<Group> groups_of(const toml::node& node,
                                             const std::vector<Row>& rows) const {
    std::vector<Group> groups;
    const toml::array& tables = tables_of(node, "group");
    for (const toml::node& element : tables) {
      const toml::table& table = *element.as_table();
      for (const auto& [key, value] : table) {
        if (!kOfGroup.contains(std::string(key.str()))) {
          throw unknown_key(key, kOfGroup);
        }
      }
      const std::size_t line = line_of(table);
      const toml::node* name = table.get("name");
      Group group{.name = name == nullptr ? "" : job::toml_text(*name, place(line_of(*name))),
                  .rows = rows_of_group(table, rows)};
      if (group.name.empty() && tables.size() > 1) {
        throw wrong(line, "[[group]] without a name; such as name = \"asynchronous\"");
      }
      if (std::ranges::find(groups, group.name, &Group::name) != groups.end()) {
        throw wrong(line, "two [[group]] are called '" + group.name + "'");
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }

  [[nodiscard]] std::vector<std::size_t> rows_of_group(const toml::table& table,
                                                       const std::vector<Row>& rows) const {
    const toml::node* node = table.get("rows");
    const std::vector<std::string> names = node == nullptr
                                               ? std::vector<std::string>{}
                                               : job::toml_texts(*node, place(line_of(*node)));
    if (names.empty()) {
      throw wrong(line_of(table), "[[group]] without rows; such as rows = [\"sync\", \"dynamic\"]");
    }
    std::vector<std::size_t> found;
    for (const std::string& name : names) {
      const auto row = std::ranges::find(rows, name, &Row::name);
      if (row == rows.end()) {
        std::vector<std::string> known;
        std::ranges::transform(rows, std::back_inserter(known), &Row::name);
        throw wrong(line_of(*node), "no row is called '" + name + "'" + suggestion(name, known));
      }
      const auto index = static_cast<std::size_t>(row - rows.begin());
      if (std::ranges::find(found, index) != found.end()) {
        throw wrong(line_of(*node), "rows has '" + name + "' twice");
      }
      found.push_back(index);
    }
    if (found.size() > kGroupRowsMost) {
      throw wrong(line_of(*node),
                  "rows has " + std::to_string(found.size()) + " names; a group has at most " +
                      std::to_string(kGroupRowsMost) + ", or nobody tells their colours apart");
    }
    return found;
  }

  const std::string path_;
  const KnownOptions& known_;
  std::set<std::string> options_;  // Options that a cell may be given in this mode.
};

}  // namespace

Config parse_config(const std::string& text, const std::string& path, const KnownOptions& known) {
  job::check_nesting(text, path);
  try {
    return Reader(path, known).read(toml::parse(text));
  } catch (const toml::parse_error& error) {
    throw job::toml_error(error, path);
  }
}

}  // namespace outpace::compare
