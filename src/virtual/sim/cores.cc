#include "sim/cores.h"

#include <algorithm>

namespace outpace::sim {

Time Cores::finish(Time now, Time ready, Duration length) {
  if (cores_ == 0 || length == Duration{}) {
    return ready + length;
  }
  while (!changes_.empty() && changes_.begin()->first <= now) {
    before_ += changes_.begin()->second;
    changes_.erase(changes_.begin());
  }
  // The earliest begin from which a processor is free for long enough: after the last stretch
  // that lies in the way.
  Time begin = ready;
  std::int64_t in_use = before_;
  for (const auto& [time, change] : changes_) {
    if (in_use >= cores_ && time > begin) {
      begin = time;
    }
    if (time >= begin + length) {
      break;
    }
    in_use += change;
  }
  ++changes_[begin];
  --changes_[begin + length];
  return begin + length;
}

void Cores::give_up(Time now, Time end, Duration length) {
  if (cores_ == 0 || length == Duration{}) {
    return;
  }
  --changes_[std::max(now, end - length)];
  ++changes_[end];
}

}  // namespace outpace::sim
