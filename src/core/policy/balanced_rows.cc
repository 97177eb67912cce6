#include "policy/balanced_rows.h"

#include <cstddef>

#include "base/check.h"
#include "base/time.h"

namespace outpace::policy {

const Paces& BalancedRows::of(const Paces& rows, std::uint32_t nominal, BalanceOptions options) {
  CHECK(rows.rows() > Balance::kAnswers && nominal >= 1);
  found_.workers = rows.workers;
  found_.seconds.resize(std::size_t{rows.rows() - Balance::kAnswers} * rows.workers);
  found_.sizes.resize(found_.seconds.size());
  Balance balance(options);
  for (std::uint32_t worker = 0; worker < rows.workers; ++worker) {
    balance.join(WorkerId{worker});
  }
  for (std::uint32_t i = rows.rows(); i-- > 0;) {
    const bool sized = i < rows.rows() - Balance::kAnswers;
    for (std::uint32_t worker = 0; worker < rows.workers; ++worker) {
      const double seconds = rows.row(i)[worker];
      const WorkerId id{worker};
      if (const std::size_t at = std::size_t{i} * rows.workers + worker; sized) {
        found_.sizes[at] = static_cast<float>(balance.size(id)) / static_cast<float>(nominal);
        found_.seconds[at] = static_cast<float>(seconds) * found_.sizes[at];
      }
      balance.answered(id, nominal, nominal, from_seconds(seconds));
    }
    balance.updated();
  }
  return found_;
}

}  // namespace outpace::policy
