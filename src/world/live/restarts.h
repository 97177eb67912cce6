// When a child that crashed is started again: after a delay that doubles with each crash in a row.
//
// Pure. A child that did what it is for begins a new row, so a process that crashes now and then is
// started again for as long as the run goes on.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace outpace::live {

inline constexpr std::uint32_t kRestartsWithoutEnd = std::numeric_limits<std::uint32_t>::max();

class Restarts {
 public:
  // `most`: in a row; 0 starts nothing again.
  explicit Restarts(std::uint32_t most) : most_(most) {}

  // The child ended with this exit code, or 128 + the signal that killed it. `did_well`: it did
  // what it is for since it was started last. Returns when it is started again; nothing if never.
  std::optional<std::chrono::milliseconds> ended(int code, bool did_well) {
    crashes_ = did_well ? 0 : crashes_;
    has_done_well_ = has_done_well_ || did_well;
    // A child that refused its input would refuse it again, unless it has worked before.
    const bool crashed = code == 1 || code > 128 || (code != 0 && has_done_well_);
    if (!crashed) {
      return std::nullopt;
    }
    ++crashes_;
    return crashes_ <= most_ ? std::optional(delay_after(crashes_)) : std::nullopt;
  }

  // In a row.
  [[nodiscard]] std::uint32_t crashes() const { return crashes_; }

 private:
  static std::chrono::milliseconds delay_after(std::uint32_t crashes) {
    constexpr std::chrono::milliseconds kFirst{500};
    constexpr std::chrono::milliseconds kLongest{60'000};
    constexpr std::uint32_t kDoublingsMost = 7;
    return std::min(kLongest, kFirst * (1U << std::min(crashes - 1, kDoublingsMost)));
  }

  std::uint32_t most_;
  std::uint32_t crashes_ = 0;
  bool has_done_well_ = false;
};

}  // namespace outpace::live
