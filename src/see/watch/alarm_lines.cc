#include "watch/alarm_lines.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace outpace::watch {
namespace {

constexpr Duration kPeriod = std::chrono::minutes(1);
constexpr std::size_t kNamed = 4;  // In one line.

std::string line_of(const Alarm& alarm) {
  return (alarm.over ? "alarm over: " : "alarm: ") + alarm.words;
}

}  // namespace

std::vector<std::string> AlarmLines::take(Time now, const std::deque<Alarm>& alarms) {
  std::vector<std::string> lines;
  for (const Alarm& alarm : alarms) {
    if (alarm.kind == AlarmKind::kSlow || alarm.kind == AlarmKind::kCluster) {
      wait(alarm);
    } else {
      lines.push_back(line_of(alarm));
    }
  }
  if (waiting_.empty() || (told_ && now - *told_ < kPeriod)) {
    return lines;
  }
  told_ = now;
  std::string line = line_of(waiting_.front());
  for (std::size_t i = 1; i < std::min(waiting_.size(), kNamed); ++i) {
    line += "; " + waiting_[i].words;
  }
  if (waiting_.size() > kNamed) {
    line += fmt::format("; and {} more", waiting_.size() - kNamed);
  }
  lines.push_back(std::move(line));
  waiting_.clear();
  return lines;
}

// An alarm that begins and ends before it is told is not reported.
void AlarmLines::wait(const Alarm& alarm) {
  const auto same = std::find_if(waiting_.begin(), waiting_.end(), [&](const Alarm& other) {
    return other.kind == alarm.kind && other.worker == alarm.worker;
  });
  if (same == waiting_.end()) {
    waiting_.push_back(alarm);
  } else {
    waiting_.erase(same);  // One begins and the other ends.
  }
}

}  // namespace outpace::watch
