#include "throughput/measured_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace outpace::throughput {
namespace {

constexpr std::uint64_t kWorkersMax = 1'000'000;
constexpr double kSecondsMax = 1e9;
constexpr double kSecondsMin = 1e-9;
constexpr double kBatchMax = 1e12;
constexpr std::array kRequired = {"workers", "nodes", "batch_per_worker"};
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

const std::vector<std::string>& known_columns() {
  static const std::vector<std::string> kKnown{"workers",
                                               "nodes",
                                               "batch_per_worker",
                                               "iteration_seconds",
                                               "sync_seconds",
                                               "policy",
                                               "topology"};
  return kKnown;
}

// A cell without surrounding blanks and quotes.
std::string_view bare(std::string_view cell) {
  cell = trim(cell);
  if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
    cell = trim(cell.substr(1, cell.size() - 2));
  }
  return cell;
}

// For an error message: shortened, and without control characters for the terminal.
std::string shown(std::string_view cell) {
  std::string text(cell.substr(0, 40));
  for (char& letter : text) {
    letter = letter >= ' ' && letter <= '~' ? letter : '?';
  }
  return "'" + text + "'" + (cell.size() > 40 ? "..." : "");
}

// The position of each known column.
using Columns = std::map<std::string, std::size_t, std::less<>>;

Columns read_head(const std::vector<std::string_view>& cells, const std::string& where) {
  Columns columns;
  std::vector<std::string> unknown;
  unknown.reserve(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string column(bare(cells[i]));
    if (std::ranges::find(known_columns(), column) == known_columns().end()) {
      unknown.push_back(std::move(column));
    } else if (!columns.emplace(column, i).second) {
      throw usage_error(fmt::format("{}: two columns are called '{}'", where, column));
    }
  }
  for (const char* const column : kRequired) {
    if (!columns.contains(column)) {
      throw usage_error(fmt::format(
          "{}: no column '{}'; the first line names the columns workers, nodes, batch_per_worker, "
          "iteration_seconds",
          where,
          column));
    }
  }
  for (const std::string& column : unknown) {
    const std::string meant = nearest(column, known_columns());
    if (!meant.empty() && !columns.contains(meant)) {
      throw usage_error(
          fmt::format("{}: unknown column {}; did you mean '{}'?", where, shown(column), meant));
    }
  }
  return columns;
}

// The cells of one row, by column.
class Cells {
 public:
  Cells(const Columns& columns, std::vector<std::string_view> cells, std::string where)
      : columns_(columns), cells_(std::move(cells)), where_(std::move(where)) {}

  [[nodiscard]] std::string_view text(std::string_view column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? std::string_view{} : bare(cells_[found->second]);
  }

  [[nodiscard]] std::uint32_t count(std::string_view column) const {
    const auto value = parse_count(text(column));
    if (!value || *value < 1 || *value > kWorkersMax) {
      throw wrong(column, fmt::format("a whole number from 1 to {}", kWorkersMax));
    }
    return static_cast<std::uint32_t>(*value);
  }

  // A number in [least, most]; nothing if the cell is empty or the column does not exist.
  [[nodiscard]] std::optional<double> number(std::string_view column,
                                             double least,
                                             double most) const {
    if (text(column).empty()) {
      return std::nullopt;
    }
    const auto value = parse_number(text(column));
    if (!value || *value < least || *value > most) {
      throw wrong(column, fmt::format("a number from {:g} to {:g}", least, most));
    }
    return value;
  }

  [[nodiscard]] Error wrong(std::string_view column, std::string_view right) const {
    return usage_error(
        fmt::format("{}: {} is {}; it takes {}", where_, column, shown(text(column)), right));
  }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const Columns& columns_;
  std::vector<std::string_view> cells_;
  std::string where_;
};

Row read_row(const Cells& cells) {
  Row row{.configuration = {.workers = cells.count("workers"),
                            .nodes = cells.count("nodes"),
                            .policy = std::string(cells.text("policy")),
                            .topology = std::string(cells.text("topology"))},
          .iteration_seconds = cells.number("iteration_seconds", kSecondsMin, kSecondsMax),
          .sync_seconds = cells.number("sync_seconds", 0.0, kSecondsMax)};
  const auto batch = cells.number("batch_per_worker", kSecondsMin, kBatchMax);
  if (!batch) {
    throw cells.wrong("batch_per_worker", "a number of examples above 0");
  }
  row.configuration.batch_per_worker = *batch;
  if (row.configuration.workers < row.configuration.nodes) {
    throw usage_error(fmt::format("{}: {} workers on {} nodes; every node has at least one worker",
                                  cells.where(),
                                  row.configuration.workers,
                                  row.configuration.nodes));
  }
  if (row.iteration_seconds && row.sync_seconds && *row.sync_seconds > *row.iteration_seconds) {
    throw usage_error(fmt::format("{}: sync_seconds is {}, more than the iteration's {}",
                                  cells.where(),
                                  *row.sync_seconds,
                                  *row.iteration_seconds));
  }
  return row;
}

}  // namespace

std::vector<Row> read_table(std::string_view text, const std::string& name) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  std::optional<Columns> columns;
  std::size_t wide = 0;
  std::vector<Row> rows;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trim(line).empty() || trim(line).front() == '#') {
      continue;
    }
    std::vector<std::string_view> cells = split(line, ',');
    std::string where = fmt::format("{}:{}", name, number);
    if (!columns) {
      columns = read_head(cells, where);
      wide = cells.size();
      continue;
    }
    if (cells.size() != wide) {
      throw usage_error(fmt::format(
          "{}: {} cells, but the first line names {} columns", where, cells.size(), wide));
    }
    if (rows.size() == kTableRowsMax) {
      throw usage_error(fmt::format("{}: more than {} rows", where, kTableRowsMax));
    }
    rows.push_back(read_row(Cells(*columns, std::move(cells), std::move(where))));
  }
  if (rows.empty()) {
    throw usage_error(name +
                      ": no rows; the first line names the columns workers, nodes, "
                      "batch_per_worker, iteration_seconds, and each further line is a row");
  }
  return rows;
}

}  // namespace outpace::throughput
