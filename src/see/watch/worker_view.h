// What a board shows of one worker.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace outpace::watch {

// REQUIRES: there is one.
[[nodiscard]] double median(std::vector<float> values);

// The newest runtimes of a full mini-batch, in seconds.
class Recent {
 public:
  void add(double seconds) { seconds_[count_++ % seconds_.size()] = static_cast<float>(seconds); }
  [[nodiscard]] std::size_t size() const { return std::min<std::size_t>(count_, seconds_.size()); }
  [[nodiscard]] std::vector<float> all() const {
    return {seconds_.begin(), seconds_.begin() + static_cast<std::ptrdiff_t>(size())};
  }

 private:
  std::array<float, 20> seconds_{};
  std::uint64_t count_ = 0;
};

struct WorkerView {
  bool live = false;
  bool open = false;  // It computes.
  bool cancelled = false;
  Time released{};
  double share = 1.0;
  std::uint32_t joined = 0;  // Times.
  std::uint32_t nominal = 0;
  std::uint32_t examples = 0;  // In its last gradient.
  std::uint64_t computed_on = 0;
  std::uint64_t accepted = 0;
  std::uint64_t dropped = 0;
  std::uint64_t abandoned = 0;
  std::uint64_t turned_away = 0;
  std::uint64_t applied = 0;    // Examples.
  std::uint32_t in_bound = 0;   // Gradients in a row that were not too stale.
  double runtime_sum = 0.0;     // The sum of whole runtimes, in seconds,
  std::uint64_t runtimes = 0;   // which are this many.
  double waited_counted = 0.0;  // The part of its waiting that is in the sums.
  Recent whole;
  Recent cut;                      // The times after which it was cut off,
  std::uint32_t cut_in_a_row = 0;  // this many since its last whole runtime.
  std::string host;

  // Its recent runtimes, or the times after which it was cut off, if it is longer().
  [[nodiscard]] std::vector<float> sample() const { return longer() ? cut.all() : whole.all(); }
  // Its sample only says that it takes longer than that: it is cut off time and again, and what it
  // took before does not explain that.
  [[nodiscard]] bool longer() const;
};

}  // namespace outpace::watch
