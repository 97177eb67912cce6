#include "relay/one_way.h"

#include <algorithm>
#include <utility>

namespace outpace::relay {

void OneWay::put(Time now, Packet packet) {
  Time sent = now;
  if (options_.bits_per_second > 0) {
    const auto size = static_cast<double>(packet.size());
    if (waiting_bytes(now) + size > static_cast<double>(options_.queue_bytes)) {
      ++counts_.refused;
      return;
    }
    free_at_ = std::max(now, free_at_) + from_seconds(size * 8 / options_.bits_per_second);
    sent = free_at_;
  }
  if (options_.loss > 0 && rng_.uniform() < options_.loss) {
    ++counts_.lost;
    return;
  }
  travelling_.push_back({sent + options_.delay, std::move(packet)});
}

std::optional<Time> OneWay::next() const {
  return travelling_.empty() ? std::nullopt : std::optional(travelling_.front().due);
}

std::optional<Packet> OneWay::take(Time now) {
  if (travelling_.empty() || travelling_.front().due > now) {
    return std::nullopt;
  }
  Packet packet = std::move(travelling_.front().packet);
  travelling_.pop_front();
  ++counts_.packets;
  counts_.bytes += packet.size();
  return packet;
}

double OneWay::waiting_bytes(Time now) const {
  return free_at_ <= now ? 0.0 : to_seconds(free_at_ - now) * options_.bits_per_second / 8;
}

}  // namespace outpace::relay
