// What rows of runtimes would have been with balanced mini-batches: each row has the sizes that
// balance.h makes of the rows before it, as in a run, and takes as much longer as they are larger.

#pragma once

#include <cstdint>

#include "policy/balance.h"
#include "policy/pace_rows.h"

namespace outpace::policy {

class BalancedRows {
 public:
  // `rows` without the oldest ones, which sizes are first made of; the newest first, as they are.
  // The answer holds until the next call. REQUIRES: there are more than Balance::kAnswers rows,
  // nominal >= 1: the examples of a full mini-batch.
  [[nodiscard]] const Paces& of(const Paces& rows, std::uint32_t nominal, BalanceOptions options);

 private:
  Paces found_;
};

}  // namespace outpace::policy
