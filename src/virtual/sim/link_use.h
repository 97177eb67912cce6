// Records how many bytes each link of a simulated cluster carried in each window of time.
//
// The number of windows is bounded, however long a run is: when all are full, each two become one
// of twice the length. Measuring does not change the run: flows complete at the same times as
// without it.

#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "base/time.h"
#include "links/flows.h"
#include "links/link.h"

namespace outpace::sim {

class LinkUse {
 public:
  // At most this many windows; fewer the more links there are, so that all of them together have
  // half a million values, but never fewer than 16.
  static constexpr std::size_t kWindowsMost = 1024;

  // Time begins at 0.
  explicit LinkUse(std::size_t links);

  // REQUIRES, here and in cancelled(): advance() was told the present time.
  void started(links::FlowId flow, std::span<const links::LinkId> route, double bytes);
  // Bytes that the flow carried since the last measure() are not counted.
  void cancelled(links::FlowId flow) { under_way_.erase(flow); }
  // Is flows.advance(now, completed), but stops at the end of each window.
  void advance(links::Flows& flows, Time now, std::vector<links::FlowId>& completed);
  // Counts what is under way as far as it is now, as every window's end does by itself.
  void measure(links::Flows& flows);

  [[nodiscard]] Duration window() const { return window_; }
  [[nodiscard]] Time end() const { return now_; }
  // Bytes/s, on average over each window; the last is cut short by the end. Empty if the link has
  // carried nothing.
  [[nodiscard]] std::vector<double> rates(links::LinkId link) const;

 private:
  struct UnderWay {
    std::vector<links::LinkId> route;
    double left;  // Bytes that are not counted yet.
  };

  // Counts what the flow has carried, now that only this much of it is left.
  void count(UnderWay& flow, double left);
  void complete(std::span<const links::FlowId> flows);
  void next_window();
  [[nodiscard]] Time begin_of(std::size_t window) const {
    return Time{window_ * static_cast<Duration::rep>(window)};
  }

  const std::size_t windows_;  // At most.
  Duration window_;            // How long each is.
  std::size_t present_ = 0;    // The window that now_ is in, or at whose end it is.
  Time now_{};
  std::map<links::FlowId, UnderWay> under_way_;
  std::vector<std::vector<double>> bytes_;  // By link that has carried any, and by window.
};

}  // namespace outpace::sim
