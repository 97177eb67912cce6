#include "watch/slow_alarms.h"

#include <fmt/format.h>

namespace outpace::watch {
namespace {

Alarm alarm_of(Time now, std::optional<WorkerId> worker) {
  return {.at = now, .kind = worker ? AlarmKind::kSlow : AlarmKind::kCluster, .worker = worker};
}

}  // namespace

std::optional<Alarm> SlowAlarms::see(Time now, const SlowChange& change) {
  if (change.change == Change::kSlow) {
    held_[change.worker] = {.since = now, .change = change};
    return std::nullopt;
  }
  held_.erase(change.worker);
  Alarm alarm = alarm_of(now, change.worker);
  alarm.over = true;
  alarm.words =
      change.worker ? name(*change.worker) + " has recovered" : "most workers have recovered";
  return alarm;
}

std::vector<Alarm> SlowAlarms::due(Time now,
                                   const SlowWatch& watch,
                                   const std::vector<WorkerView>& workers) {
  constexpr Duration kHold = std::chrono::seconds(1);
  constexpr std::uint32_t kAlwaysCut = 20;  // In a row: more than bad luck.
  std::vector<Alarm> due;
  for (auto held = held_.begin(); held != held_.end();) {
    const SlowChange& change = held->second.change;
    const double factor = change.worker ? watch.factor(*change.worker) : change.factor;
    const std::uint32_t cut = change.worker ? workers[index(*change.worker)].cut_in_a_row : 0;
    // How slow it is cannot be known if it is always cut off.
    const bool always_cut = change.at_least && cut >= kAlwaysCut;
    if (now - held->second.since < kHold || (factor < SlowWatch::kWorthTelling && !always_cut)) {
      ++held;
      continue;
    }
    Alarm& alarm = due.emplace_back(alarm_of(now, change.worker));
    if (!change.worker) {
      alarm.words = fmt::format("most workers have become slow: {:.1f}x their own past", factor);
    } else if (factor < SlowWatch::kWorthTelling) {
      alarm.words =
          fmt::format("{} has become slow: cut off {} times in a row, which it was not before",
                      name(*change.worker),
                      cut);
    } else {
      alarm.words = fmt::format("{} has become slow: {}{:.1f}x its own past",
                                name(*change.worker),
                                change.at_least ? "at least " : "",
                                factor);
    }
    held = held_.erase(held);
  }
  return due;
}

}  // namespace outpace::watch
