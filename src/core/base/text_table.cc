#include "base/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace outpace {
namespace {

constexpr std::size_t kGap = 2;

// Characters of UTF-8: bytes that continue a character do not count.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, TextTable::Align align, std::size_t width) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == TextTable::Align::kLeft ? text + blanks : blanks + text;
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  CHECK(!columns_.empty());
  Row header{.kind = Row::Kind::kCells, .cells = {}};
  header.cells.reserve(columns_.size());
  for (const Column& column : columns_) {
    header.cells.push_back(column.header);
  }
  rows_.push_back(std::move(header));
}

void TextTable::add_row(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size());
  rows_.push_back({.kind = Row::Kind::kCells, .cells = std::move(cells)});
}

void TextTable::add_row_across(std::string first, std::string text) {
  rows_.push_back({.kind = Row::Kind::kAcross, .cells = {std::move(first), std::move(text)}});
}

void TextTable::add_rule() {
  rows_.push_back({.kind = Row::Kind::kRule, .cells = {}});
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(columns_.size());
  std::ranges::transform(columns_, widths.begin(), &Column::least);
  for (const Row& row : rows_) {
    const std::size_t cells = row.kind == Row::Kind::kAcross ? 1 : row.cells.size();
    for (std::size_t i = 0; i < cells; ++i) {
      widths[i] = std::max(widths[i], width_of(row.cells[i]));
    }
  }
  return widths;
}

std::string TextTable::line(const Row& row, const std::vector<std::size_t>& widths) const {
  if (row.kind == Row::Kind::kRule) {
    const std::size_t gaps = kGap * (widths.size() - 1);
    return std::string(std::accumulate(widths.begin(), widths.end(), gaps), '-');
  }
  const std::string gap(kGap, ' ');
  std::string text = padded(row.cells.front(), columns_.front().align, widths.front());
  for (std::size_t i = 1; i < row.cells.size(); ++i) {
    text +=
        gap + (row.kind == Row::Kind::kAcross ? row.cells[i]
                                              : padded(row.cells[i], columns_[i].align, widths[i]));
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<std::string> TextTable::lines() const {
  const std::vector<std::size_t> widths = this->widths();
  std::vector<std::string> lines;
  lines.reserve(rows_.size());
  for (const Row& row : rows_) {
    lines.push_back(line(row, widths));
  }
  return lines;
}

std::string TextTable::text() const {
  std::string text;
  for (const std::string& line : lines()) {
    text += line + "\n";
  }
  return text;
}

}  // namespace outpace
