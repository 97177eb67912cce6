#include "watch/loss_alarm.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace outpace::watch {

std::optional<Alarm> LossAlarm::see(Time now, double loss) {
  Alarm alarm{.at = now, .kind = AlarmKind::kLoss};
  if (!std::isfinite(loss)) {
    alarm.words = "the training loss is not finite";
    return alarm;
  }
  first_ = first_.value_or(loss);
  least_ = std::min(least_, loss);
  constexpr double kTimesLeast = 2.0;
  constexpr double kTimesFirst = 1.5;
  constexpr double kOver = 0.9;  // The share of its beginning at which an alarm ends.
  // A loss that is not above 0 at first has no scale by which to tell.
  const double at = *first_ > 0.0 ? std::max(kTimesLeast * least_, kTimesFirst * *first_)
                                  : std::numeric_limits<double>::infinity();
  if (loss > at) {
    alarm.words = fmt::format(
        "the training loss diverges: {:.3g}, and it was {:.3g} at its least", loss, least_);
  } else if (loss <= kOver * at) {
    alarm.over = true;
    alarm.words = fmt::format("the training loss is {:.3g} again", loss);
  } else {
    return std::nullopt;
  }
  return alarm;
}

}  // namespace outpace::watch
