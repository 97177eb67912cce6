// How vectors and matrices of Eigen are kept: their size, and their numbers by column.

#pragma once

#include <string_view>
#include <vector>

#include <Eigen/Core>

#include "base/archive.h"
#include "base/error.h"

namespace outpace::runtime_model {

template <typename Matrix>
void keep_eigen(Archive& archive, std::string_view name, Matrix& matrix) {
  archive.group(name, [&] {
    std::int64_t rows = matrix.rows();
    std::int64_t columns = matrix.cols();
    std::vector<double> numbers(matrix.data(), matrix.data() + matrix.size());
    archive("rows", rows)("columns", columns)("numbers", numbers);
    if (!archive.reads()) {
      return;
    }
    constexpr std::int64_t kMost = 1 << 16;
    const bool fits = rows >= 0 && rows <= kMost && columns >= 0 && columns <= kMost &&
                      static_cast<std::uint64_t>(rows * columns) == numbers.size() &&
                      (Matrix::ColsAtCompileTime == Eigen::Dynamic || columns == 1);
    if (!fits) {
      throw Error(ExitCode::kUnreadable,
                  "'" + std::string(name) + "': rows and columns do not fit its numbers");
    }
    matrix = Eigen::Map<Matrix>(numbers.data(), rows, columns);
  });
}

}  // namespace outpace::runtime_model
