// Tested by test/program/thin_links_test.py.

#include "relay_run/relay.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>

#include <poll.h>

#include "base/error.h"

namespace outpace::relay_run {
namespace {

// Packets that are read from one device before the others have their turn.
constexpr int kTurn = 64;
constexpr Duration kIdle = std::chrono::seconds(1);

Time now() {
  return Time{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace

Relay::Relay(const std::vector<Ends>& links,
             const relay::OneWayOptions& options,
             std::uint64_t seed) {
  for (const Ends& ends : links) {
    TapDevice* near = devices_.emplace_back(std::make_unique<TapDevice>(ends.near)).get();
    TapDevice* far = devices_.emplace_back(std::make_unique<TapDevice>(ends.far)).get();
    ways_.push_back({near, far, relay::OneWay(options, Rng(seed, ways_.size()))});
    ways_.push_back({far, near, relay::OneWay(options, Rng(seed, ways_.size()))});
  }
}

void Relay::run(int signals) {
  std::vector<pollfd> waits;
  for (const Way& way : ways_) {
    waits.push_back({.fd = way.from->descriptor(), .events = POLLIN, .revents = 0});
  }
  waits.push_back({.fd = signals, .events = POLLIN, .revents = 0});
  while (waits.back().revents == 0) {
    const Duration wait = until_next();
    const timespec limit{.tv_sec = wait / std::chrono::seconds(1),
                         .tv_nsec = (wait % std::chrono::seconds(1)).count()};
    if (::ppoll(waits.data(), waits.size(), &limit, nullptr) < 0 && errno != EINTR) {
      throw Error(ExitCode::kFailure, "cannot wait for packets");
    }
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      if (waits[i].revents != 0) {
        take_in(ways_[i]);
      }
      let_out(ways_[i]);
    }
  }
}

void Relay::take_in(Way& way) {
  for (int i = 0; i < kTurn; ++i) {
    auto packet = way.from->read();
    if (!packet) {
      return;
    }
    way.queue.put(now(), std::move(*packet));
  }
}

void Relay::let_out(Way& way) {
  while (const auto packet = way.queue.take(now())) {
    way.to->write(*packet);
  }
}

Duration Relay::until_next() const {
  Duration wait = kIdle;
  const Time from = now();
  for (const Way& way : ways_) {
    if (const auto next = way.queue.next()) {
      wait = std::clamp(*next - from, Duration{}, wait);
    }
  }
  return wait;
}

std::vector<LinkCounts> Relay::counts() const {
  std::vector<LinkCounts> all;
  for (std::size_t i = 0; i < ways_.size(); i += 2) {
    all.push_back({ways_[i].queue.counts(), ways_[i + 1].queue.counts()});
  }
  return all;
}

}  // namespace outpace::relay_run
