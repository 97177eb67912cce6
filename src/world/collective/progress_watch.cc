#include "collective/progress_watch.h"

#include "base/check.h"

namespace outpace::collective {

void ProgressWatch::begin(Time now) {
  CHECK(!begun_);
  begun_ = now;
}

void ProgressWatch::end(Time now) {
  CHECK(begun_.has_value());
  if (runtimes_.size() == server::StallRule::kRecent) {
    runtimes_.erase(runtimes_.begin());
  }
  runtimes_.push_back(static_cast<float>(to_seconds(now - *begun_)));
  ++ended_;
  begun_.reset();
}

std::optional<Duration> ProgressWatch::stalled(Time now) const {
  if (!begun_) {
    return std::nullopt;
  }
  const auto limit = rule_.limit({.ended = ended_, .stalls_in_a_row = 0, .runtimes = runtimes_});
  return limit && now - *begun_ > *limit ? std::optional(now - *begun_) : std::nullopt;
}

}  // namespace outpace::collective
