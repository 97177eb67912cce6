// How much of a mini-batch a straggler gets, so that its whole gradient arrives in time.
//
//   share_w = min(1, median(time) / time_w) / 2^halvings_w
//
// where time is the last runtime, scaled to a full mini-batch, and the median is over the live.
// The time of a worker that was interrupted is the time until then.
// Only a worker that has been late gets less than a whole one; being late again halves its share,
// eight answers in time in a row give one halving back, and a time within 1.5 medians ends it.
// The halvings cover what the ratio leaves out, such as a link that is as slow for few examples.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "policy/members.h"
#include "policy/policy.h"

namespace outpace::policy {

class Shrinking {
 public:
  void join(WorkerId worker);
  void leave(WorkerId worker);
  // REQUIRES: the worker is live, here and below.
  void arrived(const GradientArrived& gradient, bool late);
  // It was told to stop, because it was late: a full mini-batch takes it these seconds or longer.
  void interrupted(WorkerId worker, std::optional<double> seconds);
  // The share of a mini-batch, for its next release: from 1/65536 to 1.
  [[nodiscard]] double share(WorkerId worker);

 private:
  struct Worker {
    bool timed = false;
    double time = 0.0;  // Seconds for a full mini-batch, as last seen.
    bool straggler = false;
    int halvings = 0;
    int in_time = 0;  // Answers in a row since it was late or got a halving back.
  };

  void late(Worker& state);
  // The median of the live workers' times; the lower of two. 0 if there is none.
  [[nodiscard]] double median_time();

  Members<Worker> workers_;
  std::vector<double> scratch_;  // Holds a time for each live worker without growing.
};

}  // namespace outpace::policy
