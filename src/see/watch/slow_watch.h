// Which workers have become slow, measured by their own past and by what happens to all others.
//
// A change that most workers share, such as a congested network, is one of the cluster and of no
// worker: each worker's runtimes are judged less the median change of the others. That median is
// watched by itself. A change that the others of one host share, such as a busy processor, is the
// host's and of no worker either.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "watch/change_point.h"

namespace outpace::watch {

struct SlowChange {
  std::optional<WorkerId> worker;  // Nothing: most workers at once.
  Change change;
  double factor;          // Times slower than before; of a recovery, what it had been.
  bool at_least = false;  // Its runtimes were cut off.
};

class SlowWatch {
 public:
  // Slower than this is worth telling: workers that share a processor are slower for moments.
  static constexpr double kWorthTelling = 1.5;

  // The host of a worker. Without one, it is judged beside all others alone.
  void is_at(WorkerId worker, const std::string& host);
  // A worker took this long for a mini-batch, or longer, if it was cut off. REQUIRES: seconds > 0.
  [[nodiscard]] std::optional<SlowChange> see(WorkerId worker, double seconds, bool longer);
  // The worker's process is another one, perhaps on another machine: its past does not count.
  void forget(WorkerId worker);

  // 1 unless it has become slow, by kWorthTelling at least.
  [[nodiscard]] double factor(WorkerId worker) const;

 private:
  // A process loads and compiles in its first mini-batches; they belong to no baseline.
  static constexpr std::uint32_t kWarmUp = 5;

  struct Worker {
    std::uint32_t ended = 0;  // Mini-batches of its process; counts to kWarmUp.
    ChangePoint test;
    double change = 0.0;  // From the baseline to the logarithm of its last whole runtime.
    std::string host;
  };
  // The change common to all workers whose baseline is known; 0 if they are too few to tell.
  [[nodiscard]] double common_change();
  // The change of the others on its host, if they have become slower; else 0.
  [[nodiscard]] double host_change(std::size_t worker);
  // REQUIRES: the common change has just been taken.
  [[nodiscard]] std::optional<SlowChange> see_cluster();

  std::vector<Worker> workers_;
  std::map<std::string, std::vector<std::size_t>> hosts_;  // The workers at each.
  std::vector<double> changes_;                            // Kept for its memory.
  ChangePoint cluster_;
  bool told_ = false;  // Whether the cluster's present slowness was told.
  double common_ = 0.0;
  std::size_t since_ = 0;  // Runtimes since the common change was taken.
  std::size_t parts_ = 0;  // How often it was taken since it was judged.
};

}  // namespace outpace::watch
