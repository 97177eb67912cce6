// A table of numbers in a CSV file: a row is an example, and its last column the label.
//
// Fields are separated by commas. Blanks around them, blank lines and carriage returns are ignored.
// A first line without any number is a header. Labels are 0, 1, 2, ..., each at least once. Rows N,
// 2N, 3N, ... (not counting the header) are the test part. It is thus the same in every process,
// and has every class if the file is sorted by class. Features are standardised by the mean and
// deviation of the training part; a column that is constant there becomes 0.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "learn/dataset.h"

namespace outpace::learn {

struct TableOptions {
  std::string file;
  std::size_t test_every = 10;  // N; at least 2.
};

// Throws a usage error that names the file and the line: a row of another length, a value that is
// not a finite number, an invalid label, or too few rows for a test part.
[[nodiscard]] std::unique_ptr<Dataset> load_table(const TableOptions& options, Part part);

}  // namespace outpace::learn
