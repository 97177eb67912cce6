#include "watch/alarms.h"

#include "base/check.h"

namespace outpace::watch {

const char* to_text(AlarmKind kind) {
  switch (kind) {
    case AlarmKind::kSlow:
      return "slow";
    case AlarmKind::kCluster:
      return "cluster";
    case AlarmKind::kStalled:
      return "stalled";
    case AlarmKind::kDead:
      return "dead";
    case AlarmKind::kStale:
      return "stale";
    case AlarmKind::kLoss:
      return "loss";
    case AlarmKind::kDiskFull:
      return "disk";
    case AlarmKind::kLinks:
      return "links";
  }
  CHECK(false);
  return "";
}

void Alarms::begin(Alarm alarm) {
  if (is_on(alarm.kind, alarm.worker)) {
    return;
  }
  alarm.over = false;
  ++begun_[alarm.kind];
  say(alarm);
  on_.emplace(std::pair(alarm.kind, alarm.worker), std::move(alarm));
}

void Alarms::end(Alarm alarm) {
  if (on_.erase({alarm.kind, alarm.worker}) == 0) {
    return;
  }
  alarm.over = true;
  say(alarm);
}

std::uint64_t Alarms::begun(AlarmKind kind) const {
  const auto found = begun_.find(kind);
  return found == begun_.end() ? 0 : found->second;
}

void Alarms::say(const Alarm& alarm) {
  log_.add() = alarm;
  new_.push_back(alarm);
  if (new_.size() > kLogged) {
    new_.pop_front();
  }
}

}  // namespace outpace::watch
