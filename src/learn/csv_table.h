// A table of numbers in a CSV file: a row is an example, its last column the label.
//
// Fields are separated by commas; blanks around them, blank lines and carriage returns do not
// count. A first line without a single number is a header. Labels are 0, 1, 2, ..., each at least
// once. Of the rows, without the header, those of number N, 2N, 3N, ... are the test part: the same
// in every process, and of every class if the file is sorted by class. Features are standardised by
// mean and deviation of the training part; a column that is the same in all its rows becomes 0.

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

// Throws a usage error that names file and line: a row of another length, something that is no
// finite number, a label that is none, or too few rows for a test part.
[[nodiscard]] std::unique_ptr<Dataset> load_table(const TableOptions& options, Part part);

}  // namespace outpace::learn
