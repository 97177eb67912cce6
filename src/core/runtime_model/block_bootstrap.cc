#include "runtime_model/block_bootstrap.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/check.h"
#include "base/rng.h"

namespace outpace::runtime_model {
namespace {

constexpr std::size_t kBlock = 25;  // Iterations.
constexpr std::size_t kFewestBlocks = 8;
constexpr std::size_t kResamples = 2000;

struct RateSums {
  double count = 0.0;
  double seconds = 0.0;

  void add(const TrialRow& row) {
    count += row.count;
    seconds += row.seconds;
  }
  [[nodiscard]] double omega() const { return count / seconds; }
};

}  // namespace

Interval ratio_interval(std::span<const TrialRow> rows, std::span<const TrialRow> base) {
  CHECK(rows.size() == base.size() && !rows.empty());
  const std::size_t block = std::clamp(rows.size() / kFewestBlocks, std::size_t{1}, kBlock);
  Rng rng(1, 0);
  std::vector<double> ratios;
  for (std::size_t k = 0; k < kResamples; ++k) {
    RateSums of_rows;
    RateSums of_base;
    for (std::size_t drawn = 0; drawn < rows.size(); drawn += block) {
      const std::size_t begin = rng.below(rows.size());
      for (std::size_t i = 0; i < std::min(block, rows.size() - drawn); ++i) {
        const std::size_t at = (begin + i) % rows.size();  // The trace's end joins its begin.
        of_rows.add(rows[at]);
        of_base.add(base[at]);
      }
    }
    ratios.push_back(of_rows.omega() / of_base.omega());
  }
  std::sort(ratios.begin(), ratios.end());
  return {.low = ratios[kResamples / 40], .high = ratios[kResamples - 1 - kResamples / 40]};
}

}  // namespace outpace::runtime_model
