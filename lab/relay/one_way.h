// One way of a long, thin link: packets come out in their order, after a delay, at a limited rate,
// and some are lost.
//
// A packet waits for those before it, takes its length at the rate, and then travels. One that
// finds the queue full is dropped. A lost packet has used the link, as on a real one. The driver
// owns the clock: put() and take() are told what time it is, which never goes back.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "base/time.h"

namespace outpace::relay {

using Packet = std::vector<std::byte>;

struct OneWayOptions {
  Duration delay{};
  double loss = 0.0;                      // The chance of each packet, 0 to 1.
  double bits_per_second = 0.0;           // 0: as fast as packets come.
  std::uint64_t queue_bytes = 1U << 20U;  // That may wait for the rate.
};

struct Counts {
  std::uint64_t packets = 0;  // That came out.
  std::uint64_t bytes = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;  // The queue was full.

  friend bool operator==(const Counts&, const Counts&) = default;
};

class OneWay {
 public:
  OneWay(const OneWayOptions& options, const Rng& rng) : options_(options), rng_(rng) {}

  void put(Time now, Packet packet);
  // When the next packet comes out; none if none is on the way.
  [[nodiscard]] std::optional<Time> next() const;
  // The next packet, if it is due.
  [[nodiscard]] std::optional<Packet> take(Time now);

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Travelling {
    Time due;
    Packet packet;
  };

  [[nodiscard]] double waiting_bytes(Time now) const;

  OneWayOptions options_;
  Rng rng_;
  Time free_at_{};  // The link has sent all that was put.
  std::deque<Travelling> travelling_;
  Counts counts_;
};

}  // namespace outpace::relay
