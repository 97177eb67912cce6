#include "watch/recent_updates.h"

#include <algorithm>
#include <cmath>

namespace outpace::watch {
namespace {

constexpr std::size_t kKept = 400;
constexpr double kRecent = 5.0;  // Seconds, where those are enough.
constexpr std::size_t kRecentLeast = 8;

}  // namespace

void RecentUpdates::add(const Update& update) {
  updates_.push_back(update);
  if (updates_.size() > kKept) {
    updates_.pop_front();
  }
}

bool RecentUpdates::enough() const {
  return updates_.size() >= kRecentLeast;
}

std::deque<RecentUpdates::Update>::const_iterator RecentUpdates::first(Time now) const {
  std::size_t first = updates_.size() - std::min(updates_.size(), kRecentLeast);
  while (first > 0 && to_seconds(now - updates_[first - 1].at) < kRecent) {
    --first;
  }
  return updates_.begin() + static_cast<std::ptrdiff_t>(first);
}

std::optional<double> RecentUpdates::rate(Time now) const {
  if (updates_.size() < 2) {
    return std::nullopt;
  }
  const Update& from = *first(now);
  return static_cast<double>(updates_.back().applied - from.applied) / to_seconds(now - from.at);
}

std::optional<double> RecentUpdates::rate_of_updates(Time now) const {
  const Update& from = *first(now);
  const double seconds = to_seconds(updates_.back().at - from.at);
  if (seconds <= 0.0) {
    return std::nullopt;
  }
  return static_cast<double>(updates_.back().applied - from.applied) / seconds;
}

std::optional<double> RecentUpdates::seconds(Time now) const {
  if (updates_.size() < 2) {
    return std::nullopt;
  }
  const auto from = first(now);
  return to_seconds(updates_.back().at - from->at) / static_cast<double>(updates_.end() - from - 1);
}

std::optional<std::uint32_t> RecentUpdates::without() const {
  if (updates_.size() < 2) {
    return std::nullopt;
  }
  const std::size_t looked = std::min<std::size_t>(updates_.size(), 20);
  double without = 0.0;
  for (std::size_t i = updates_.size() - looked; i < updates_.size(); ++i) {
    const Update& update = updates_[i];
    without += update.live > update.gradients ? update.live - update.gradients : 0U;
  }
  return static_cast<std::uint32_t>(std::lround(without / static_cast<double>(looked)));
}

bool RecentUpdates::with_all(Time now) const {
  return std::all_of(first(now), updates_.end(), [](const Update& update) {
    return update.gradients >= update.live;
  });
}

}  // namespace outpace::watch
