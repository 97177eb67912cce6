// Whether the training loss is in order: it is finite, and far from where it diverges.

#pragma once

#include <limits>
#include <optional>

#include "base/time.h"
#include "watch/alarms.h"

namespace outpace::watch {

class LossAlarm {
 public:
  // The loss now. Says that it diverges, or that it does not; nothing in between, so that an alarm
  // does not flap.
  [[nodiscard]] std::optional<Alarm> see(Time now, double loss);

 private:
  double least_ = std::numeric_limits<double>::infinity();
  std::optional<double> first_;
};

}  // namespace outpace::watch
