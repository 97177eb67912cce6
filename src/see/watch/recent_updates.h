// How a run has gone in its newest updates: at least eight of them, or five seconds.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"

namespace outpace::watch {

class RecentUpdates {
 public:
  struct Update {
    Time at{};
    std::uint32_t gradients = 0;
    std::uint32_t live = 0;     // Workers.
    std::uint64_t applied = 0;  // Examples, so far.
  };
  void add(const Update& update);
  void clear() { updates_.clear(); }

  // There are enough to say what the run gains.
  [[nodiscard]] bool enough() const;
  // Examples applied a second, up to now. It is not finite where all updates are of this moment.
  [[nodiscard]] std::optional<double> rate(Time now) const;
  // The same up to the newest update; nothing if all are of one moment. REQUIRES: there is one.
  [[nodiscard]] std::optional<double> rate_of_updates(Time now) const;
  // From one update to the next.
  [[nodiscard]] std::optional<double> seconds(Time now) const;
  // Live workers that a typical update did without.
  [[nodiscard]] std::optional<std::uint32_t> without() const;
  // Each had a gradient for each live worker.
  [[nodiscard]] bool with_all(Time now) const;

 private:
  // The update from which on they are recent. REQUIRES: there is one.
  [[nodiscard]] std::deque<Update>::const_iterator first(Time now) const;

  std::deque<Update> updates_;
};

}  // namespace outpace::watch
