// Which workers have become slow, measured by their own past and by what happens to all others.
//
// A change that most workers share, such as a congested network, is one of the cluster and of no
// worker: each worker's runtimes are judged less the median change of the others. That median is
// watched by itself.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
  // A worker took this long for a mini-batch, or longer, if it was cut off. REQUIRES: seconds > 0.
  [[nodiscard]] std::optional<SlowChange> see(WorkerId worker, double seconds, bool longer);
  // The worker's process is another one, perhaps on another machine: its past does not count.
  void forget(WorkerId worker);

  // 1 unless it has become slow.
  [[nodiscard]] double factor(WorkerId worker) const;

 private:
  struct Worker {
    ChangePoint test;
    double change = 0.0;  // Of its last whole runtime's logarithm, from the baseline.
  };
  // Of all workers whose baseline is known; 0 if they are too few to tell.
  [[nodiscard]] double common_change();
  // REQUIRES: the common change has just been taken.
  [[nodiscard]] std::optional<SlowChange> see_cluster();

  std::vector<Worker> workers_;
  std::vector<double> changes_;  // Kept for its memory.
  ChangePoint cluster_;
  bool told_ = false;  // Of the cluster's present slowness.
  double common_ = 0.0;
  std::size_t since_ = 0;  // Runtimes since the common change was taken.
  std::size_t parts_ = 0;  // How often it was taken since it was judged.
};

}  // namespace outpace::watch
