// What each worker did in each short stretch of time: the lanes of the page.
//
// Time is cut into cells of equal length. A cell says which part of it a worker spent on what. The
// newest cells are kept, or all of them, twice as long each time that there are too many: memory is
// bounded whatever the run's length.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace outpace::watch {

enum class Doing : std::uint8_t {
  kAbsent,     // It has not come yet.
  kComputing,  // From the release of weights to the arrival of their gradient,
  kSending,    // the part of it that was no computing, as the worker itself reports it.
  kWaiting,    // It has nothing to compute.
  kCancelled,  // It was told to stop, and has not answered yet.
  kGone,       // It has left, or is dead.
  kStalled,    // It is alive, and at a mini-batch for too long.
};
inline constexpr std::size_t kDoings = 7;
inline constexpr std::size_t kCellDigits = kDoings - 1;  // All but kAbsent.

class Lanes {
 public:
  struct Options {
    Duration cell = std::chrono::milliseconds(100);
    std::size_t kept = 450;  // Cells; even.
    bool whole = false;      // All of time is kept, in cells that become longer.
  };

  explicit Lanes(Options options) : options_(options), cell_(options.cell) {}

  // From now on the worker does this. Times never decrease.
  void become(Time now, WorkerId worker, Doing doing);
  // Closes the cells that have ended by now.
  void advance(Time now);
  // This part of the computing was in truth spent on sending, from the next cell on.
  void set_sending(WorkerId worker, double share);

  // Seconds that the worker has waited so far.
  [[nodiscard]] double waited(WorkerId worker) const;
  [[nodiscard]] Doing doing(WorkerId worker) const;
  [[nodiscard]] std::size_t workers() const { return workers_.size(); }
  [[nodiscard]] std::uint64_t closed() const { return open_; }
  [[nodiscard]] std::uint64_t oldest() const {
    return open_ > options_.kept ? open_ - options_.kept : 0;
  }
  [[nodiscard]] double cell_seconds() const { return to_seconds(cell_); }
  // Appends kCellDigits hexadecimal digits for each closed cell from `first` on: sixteenths of the
  // cell spent on each kind of Doing, in their order. REQUIRES: first >= oldest().
  void write(WorkerId worker, std::uint64_t first, std::string& out) const;
  // Goes on from what write() wrote of each worker from the first cell on. REQUIRES: options.whole,
  // and nothing has been told yet.
  void read(double cell_seconds, const std::vector<std::string>& lanes);

 private:
  using Cell = std::array<std::uint8_t, kCellDigits>;
  struct Lane {
    Doing doing = Doing::kAbsent;
    Time since{};  // When `doing` began, in the open cell.
    std::array<double, kDoings> open{};
    bool cut = false;  // In the open cell.
    double waited = 0.0;
    double sending = 0.0;
    std::vector<Cell> cells;  // A ring.
  };

  [[nodiscard]] Time begin_of(std::uint64_t cell) const {
    return Time{cell_ * static_cast<std::int64_t>(cell)};
  }
  Lane& lane(WorkerId worker);
  static void spend(Lane& lane, Time until);
  [[nodiscard]] Cell close(Lane& lane) const;
  // Makes one cell of every two.
  void halve();

  const Options options_;
  Duration cell_;
  std::vector<Lane> workers_;
  std::uint64_t open_ = 0;  // The number of the open cell.
};

}  // namespace outpace::watch
