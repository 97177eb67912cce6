// The workers' last runtimes side by side: a row for each iteration, or for about the time of one
// where nobody waits. What any policy would have made of them follows from such rows (progress.h).
//
// A row is open until each live worker has a runtime in it, or a round ends without some: of these
// it is known that they take longer. A worker that is done several times in a row counts with the
// first, so that a row is a sample of what the workers need when they begin together.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "policy/members.h"

namespace outpace::policy {

// Rows x workers, in seconds, all positive: one row after another.
struct Paces {
  std::uint32_t workers = 0;
  std::vector<float> seconds;
  std::vector<float> sizes = {};  // In full mini-batches, as `seconds`; empty: all 1.

  [[nodiscard]] std::uint32_t rows() const {
    return workers == 0 ? 0 : static_cast<std::uint32_t>(seconds.size() / workers);
  }
  [[nodiscard]] float size(std::size_t i) const { return sizes.empty() ? 1.0F : sizes[i]; }
  [[nodiscard]] std::span<const float> row(std::uint32_t i) const {
    return std::span(seconds).subspan(std::size_t{i} * workers, workers);
  }
};

class PaceRows {
 public:
  static constexpr std::uint32_t kRows = 32;  // That are kept; few, because machines drift.

  // A worker that joins has no runtimes, whatever was known of one of this id.
  void join(WorkerId worker) { workers_.join(worker); }
  void leave(WorkerId worker);

  // REQUIRES of all: the worker is live, seconds > 0.
  void took(WorkerId worker, double seconds);
  // It was cut off after `seconds`.
  void takes_longer(WorkerId worker, double seconds);
  // One that was cut off in an earlier row took so long.
  void took_after_all(WorkerId worker, double seconds);

  // Each live worker has a runtime in the open row.
  [[nodiscard]] bool complete() const { return in_row_ > 0 && in_row_ == workers_.live(); }
  void close();
  [[nodiscard]] std::uint64_t closed() const { return closed_; }

  // The closed rows. One that is only known to take longer than s takes the mean of what the worker
  // took when it took longer than s, or kUnseen s if that was never seen; where nothing was seen of
  // a worker in a row, it takes its mean. False if there are fewer than `least` rows, or nothing is
  // known of a worker. Allocates only to grow `out`.
  [[nodiscard]] bool paces(std::uint32_t least, Paces& out);

 private:
  static constexpr double kUnseen = 1.5;

  // Runtimes by row; 0: none; less than 0: longer than that.
  struct Worker {
    std::array<float, kRows> seconds{};
  };

  void note(WorkerId worker, float seconds);
  [[nodiscard]] std::uint32_t open() const { return static_cast<std::uint32_t>(closed_ % kRows); }

  Members<Worker> workers_;
  std::uint64_t closed_ = 0;
  std::uint32_t in_row_ = 0;  // Workers that have something in the open row.
};

}  // namespace outpace::policy
