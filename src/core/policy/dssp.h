// Dynamic stale synchronous parallel: SSP whose bound follows the workers' pace.
//
//   worker w may start its next iteration  iff  c_w - min over the live of c <= s_w,
//   s_w in [low, high]
//
// Zhao, An, Liu, Chen, "Dynamic Stale Synchronous Parallel Distributed Training for Deep Learning"
// (ICDCS 2019), algorithms 1 and 2, as rebuilt here from their description. When the fastest worker
// comes to be a > low ahead, its last runtime and the slowest's predict their next finishes:
//
//   s_w = a - 1 + r,   r of 0..high - a + 1 with the least wait, from its own r-th next finish to
//                      the slowest's next one; the smallest of equals
//
// so that after r more iterations it waits for one of the slowest's. For all others s_w = low.
//
// If workers are equally far behind, the slowest is the one that is expected last, because the
// lowest clock rises when all of them have finished; or one of unknown pace.
// low = high is ssp:s. Finding r costs a look at every worker, only when one is that far ahead.

#pragma once

#include <cstdint>

#include "policy/ssp.h"

namespace outpace::policy {

class Dssp final : public Ssp {
 public:
  struct Options {
    std::uint64_t low;
    std::uint64_t high;  // At least low; a decision looks at each bound between them.
  };

  explicit Dssp(Options options);

 private:
  struct Pace {
    std::uint64_t clock = 0;
    Time last{};         // Its last finish.
    Duration runtime{};  // Its last one; 0: unknown.
  };

  // One is waited for longer than the other.
  [[nodiscard]] static bool is_behind(const Pace& one, const Pace& other);
  void follow(WorkerId worker, std::uint64_t clock) override;
  void unfollow(WorkerId worker) override;
  void finished(Time now, WorkerId worker, Duration runtime) override;
  [[nodiscard]] std::uint64_t slack_of(WorkerId worker) override;

  // Constant after construction.
  const Options options_;

  Members<Pace> paces_;
};

}  // namespace outpace::policy
