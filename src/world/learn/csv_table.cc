#include "learn/csv_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "learn/data_file.h"

namespace outpace::learn {
namespace {

// Every class needs a row. The limit guards against an endless list of identities in the last
// column.
constexpr std::uint32_t kClassesMax = 10'000;

struct Table {
  std::size_t features = 0;    // Per row.
  std::vector<float> numbers;  // Row by row.
  std::vector<std::uint32_t> labels;
  std::vector<std::size_t> lines;  // The line of each row, from 1.
};

class Lines {
 public:
  explicit Lines(const std::string& text) : rest_(text) {
    if (rest_.starts_with("\xef\xbb\xbf")) {  // UTF-8's byte order mark, which spreadsheets write.
      rest_.remove_prefix(3);
    }
  }

  // Splits the next line that is not blank into fields; returns false at the end.
  bool next(std::vector<std::string_view>& fields) {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      const std::string_view line = trim(rest_.substr(0, end));
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (!line.empty()) {
        fields = split(line, ',');
        for (std::string_view& field : fields) {
          field = trim(field);
        }
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;  // The number of the line that next() returned, from 1.
};

Error at_line(const std::string& file, std::size_t line, const std::string& what) {
  return usage_error(file + ":" + std::to_string(line) + ": " + what);
}

// In quotes, without control characters for the terminal, and shortened.
std::string quoted(std::string_view field) {
  constexpr std::size_t kLettersMax = 40;
  std::string shown;
  for (const char letter : field.substr(0, kLettersMax)) {
    shown.push_back(letter >= ' ' && letter <= '~' ? letter : '?');
  }
  return "'" + shown + (field.size() > kLettersMax ? "..." : "") + "'";
}

float feature(const std::string& file,
              std::size_t line,
              std::size_t column,
              std::string_view field) {
  const auto number = parse_number(field);
  if (!number || std::abs(*number) > double{std::numeric_limits<float>::max()}) {
    throw at_line(file,
                  line,
                  "column " + std::to_string(column) + ": " + quoted(field) +
                      (field.empty() ? " is missing; a finite number was expected"
                                     : " is no finite number of single precision"));
  }
  return static_cast<float>(*number);
}

std::uint32_t label(const std::string& file, std::size_t line, std::string_view field) {
  const auto number = parse_number(field);  // Accepts "2.0" too, which numpy.savetxt writes.
  if (!number || *number < 0.0 || *number >= double{kClassesMax} ||
      *number != std::floor(*number)) {
    throw at_line(file,
                  line,
                  "the last column, the label, is " + quoted(field) +
                      "; it takes whole numbers 0, 1, 2, ... below " + std::to_string(kClassesMax));
  }
  return static_cast<std::uint32_t>(*number);
}

bool is_header(const std::vector<std::string_view>& fields) {
  return std::none_of(fields.begin(), fields.end(), [](std::string_view field) {
    return parse_number(field).has_value();
  });
}

Table parse_table(const std::string& file, const std::string& text) {
  Table table;
  Lines lines(text);
  std::vector<std::string_view> fields;
  std::size_t columns = 0;
  while (lines.next(fields)) {
    if (columns == 0) {
      columns = fields.size();
      if (columns < 2) {
        throw at_line(file,
                      lines.number(),
                      "one column; features and, last, the label were expected, separated by "
                      "commas");
      }
      if (is_header(fields)) {
        continue;
      }
    }
    if (fields.size() != columns) {
      throw at_line(file,
                    lines.number(),
                    std::to_string(fields.size()) + " columns, where the first row has " +
                        std::to_string(columns));
    }
    for (std::size_t i = 0; i + 1 < columns; ++i) {
      table.numbers.push_back(feature(file, lines.number(), i + 1, fields[i]));
    }
    table.labels.push_back(label(file, lines.number(), fields.back()));
    table.lines.push_back(lines.number());
  }
  table.features = columns == 0 ? 0 : columns - 1;
  return table;
}

// Labels are 0, 1, 2, ... without a gap. A gap would be an output of the network that is never
// right, and usually means that the labels start at 1.
std::size_t count_classes(const std::string& file, const Table& table) {
  const auto largest = std::max_element(table.labels.begin(), table.labels.end());
  std::vector<bool> seen(std::size_t{*largest} + 1);
  for (const std::uint32_t one : table.labels) {
    seen[one] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end()) {
    throw at_line(file,
                  table.lines[static_cast<std::size_t>(largest - table.labels.begin())],
                  "label " + std::to_string(*largest) + ", but no row has label " +
                      std::to_string(missing - seen.begin()) + "; labels must be 0, 1, 2, ... " +
                      "with none left out");
  }
  if (seen.size() < 2) {
    throw usage_error(file + ": all labels are 0; at least two classes are needed");
  }
  return seen.size();
}

// Row 0 is the first; N, 2N, ... count from 1.
bool in_test_part(std::size_t row, std::size_t test_every) {
  return (row + 1) % test_every == 0;
}

struct Standard {
  double mean = 0.0;
  double scale = 0.0;  // 1 / deviation; 0 for a constant column.
};

// The mean and deviation of one column over the training rows, in two passes to avoid cancellation.
Standard standard_of(const Table& table, std::size_t column, std::size_t test_every) {
  double sum = 0.0;
  double count = 0.0;
  float least = std::numeric_limits<float>::max();
  float most = std::numeric_limits<float>::lowest();
  for (std::size_t row = 0; row < table.labels.size(); ++row) {
    if (!in_test_part(row, test_every)) {
      const float number = table.numbers[row * table.features + column];
      sum += double{number};
      count += 1.0;
      least = std::min(least, number);
      most = std::max(most, number);
    }
  }
  Standard standard{.mean = sum / count};
  if (least == most) {
    return standard;
  }
  double squares = 0.0;
  for (std::size_t row = 0; row < table.labels.size(); ++row) {
    if (!in_test_part(row, test_every)) {
      const double away = double{table.numbers[row * table.features + column]} - standard.mean;
      squares += away * away;
    }
  }
  standard.scale = 1.0 / std::sqrt(squares / count);
  return standard;
}

void standardise(const std::string& file, Table& table, std::size_t test_every) {
  for (std::size_t column = 0; column < table.features; ++column) {
    const Standard standard = standard_of(table, column, test_every);
    for (std::size_t row = 0; row < table.labels.size(); ++row) {
      float& number = table.numbers[row * table.features + column];
      const double became = (double{number} - standard.mean) * standard.scale;
      if (!(std::abs(became) <= double{std::numeric_limits<float>::max()})) {
        throw at_line(file,
                      table.lines[row],
                      "column " + std::to_string(column + 1) +
                          ": too far from the training rows' mean to be standardised; rescale the "
                          "column");
      }
      number = static_cast<float>(became);
    }
  }
}

class Rows final : public Dataset {
 public:
  Rows(const DataShape& shape, const Table& table, Part part, std::size_t test_every)
      : shape_(shape) {
    for (std::size_t row = 0; row < table.labels.size(); ++row) {
      if (in_test_part(row, test_every) == (part == Part::kTest)) {
        const auto begin =
            table.numbers.begin() + static_cast<std::ptrdiff_t>(row * table.features);
        numbers_.insert(numbers_.end(), begin, begin + static_cast<std::ptrdiff_t>(table.features));
        labels_.push_back(table.labels[row]);
      }
    }
  }

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::size_t examples() const override { return labels_.size(); }

 private:
  void copy(std::span<const std::uint64_t> indices,
            std::span<float> inputs,
            std::span<std::int64_t> labels) const override {
    const std::size_t each = shape_.inputs();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      std::copy_n(numbers_.data() + indices[i] * each, each, inputs.data() + i * each);
      labels[i] = labels_[indices[i]];
    }
  }

  DataShape shape_;
  std::vector<float> numbers_;  // Standardised; shape_.inputs() per example.
  std::vector<std::uint32_t> labels_;
};

}  // namespace

std::unique_ptr<Dataset> load_table(const TableOptions& options, Part part) {
  CHECK(options.test_every >= 2);
  Table table = parse_table(options.file, read_data_file(options.file));
  if (table.labels.size() < options.test_every) {
    throw usage_error(options.file + ": " + std::to_string(table.labels.size()) +
                      " rows; at least " + std::to_string(options.test_every) +
                      " are needed, of which the last is the test part");
  }
  const DataShape shape{.kind = DataKind::kFeatures,
                        .height = 1,
                        .width = table.features,
                        .classes = count_classes(options.file, table)};
  standardise(options.file, table, options.test_every);
  return std::make_unique<Rows>(shape, table, part, options.test_every);
}

}  // namespace outpace::learn
