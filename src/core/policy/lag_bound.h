// How many versions a gradient may be behind under SaPS: the paper's s, as a number or as a rule
// that follows the cluster.
//
//   Given       s
//   ByWorkers   s = max(1, 2 (W - 1)), with W live workers
//   ByLag       s = max(1, ceil(factor * median lag)), where the median is over the lags of the
//               live workers' last answers
//
// W workers are W - 1 versions behind on average, whatever their speeds (Zhang, Gupta, Lian, Liu,
// "Staleness-aware Async-SGD", IJCAI 2016, section 3.1), and equal ones hardly ever twice as many.
// So the two rules drop nothing of equal workers. A number below W - 1 must drop some: of every
// s + 1 updates in a row no worker has two, so at most s + 1 of W equal workers count.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/spec.h"
#include "policy/members.h"

namespace outpace::policy {

class LagBound {
 public:
  struct Given {
    std::uint64_t bound;  // At least 1.
  };
  struct ByWorkers {};
  struct ByLag {
    double factor;  // At least 1.
  };
  using Rule = std::variant<ByWorkers, Given, ByLag>;

  // Reads the option `s`: a number, a multiple such as "2.5x", or nothing. Throws a usage error.
  [[nodiscard]] static Rule read(SpecReader& options);

  // `planned`: workers that the run is planned with.
  LagBound(Rule rule, std::uint32_t planned) : rule_(rule), planned_(planned) { follow_workers(); }

  // Forgets the lag of a worker of this id. The only call that allocates, but for take_warning().
  void join(WorkerId worker);
  void leave(WorkerId worker);
  // The worker answered, `lag` versions after its release. REQUIRES: it is live.
  void answered(WorkerId worker, std::uint64_t lag);

  [[nodiscard]] std::uint64_t now() const { return bound_; }

  // Says once, when all planned workers have come, that the bound drops a share of equal workers'
  // gradients; nothing otherwise.
  [[nodiscard]] std::optional<std::string> take_warning();

 private:
  struct Worker {
    std::optional<std::uint64_t> lag;
  };

  void follow_workers();
  void follow_lag(double factor);

  // Constant after construction.
  const Rule rule_;
  const std::uint32_t planned_;

  Members<Worker> workers_;
  std::uint64_t bound_ = 1;
  std::uint32_t answers_ = 0;           // Since the median was last found.
  std::vector<std::uint64_t> scratch_;  // Holds a lag for each live worker without growing.
  bool warned_ = false;
};

// The share of gradients that a bound drops of `workers` equal workers; 0 if it drops none.
[[nodiscard]] double share_dropped(std::uint64_t bound, std::uint32_t workers);

}  // namespace outpace::policy
