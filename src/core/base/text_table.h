// A table in plain text. Each column is as wide as its widest cell, and two blanks separate
// columns.
//
//   TextTable table({{"policy", TextTable::Align::kLeft}, {"updates"}});
//   table.add_row({"sync", "1,200"});
//   fmt::print("{}", table.text());

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace outpace {

class TextTable {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kRight;
    std::size_t least = 0;  // Least width, in characters.
  };

  // REQUIRES: at least one column.
  explicit TextTable(std::vector<Column> columns);

  // REQUIRES: one cell per column.
  void add_row(std::vector<std::string> cells);
  // A row of a first cell and one text across all other columns. The text widens no column.
  void add_row_across(std::string first, std::string text);
  // A line of dashes, as wide as the table.
  void add_rule();

  // The header and the rows, without newlines and without blanks at the end.
  [[nodiscard]] std::vector<std::string> lines() const;
  // The same as one text in which every line ends with a newline.
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    enum class Kind : std::uint8_t { kCells, kAcross, kRule };
    Kind kind;
    std::vector<std::string> cells;  // kAcross: the first cell and the text.
  };
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] std::string line(const Row& row, const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;  // The header is the first.
};

}  // namespace outpace
