#include "watch/lanes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace outpace::watch {
namespace {

constexpr double kCutLeast = 0.2;  // The share of a cell.

}  // namespace

void Lanes::become(Time now, WorkerId worker, Doing doing) {
  advance(now);
  Lane& one = lane(worker);
  spend(one, now);
  one.doing = doing;
  one.cut = one.cut || doing == Doing::kCancelled;
}

void Lanes::advance(Time now) {
  auto until = static_cast<std::uint64_t>(now.time_since_epoch() / cell_);
  if (!options_.whole &&
      until > open_ + options_.kept) {  // After a long silence: of the cells before, none is kept.
    open_ = until - options_.kept;
    for (Lane& one : workers_) {
      spend(one, begin_of(open_));
      one.open = {};
      one.cut = false;
    }
  }
  while (open_ < until) {
    const Time end = begin_of(open_ + 1);
    for (Lane& one : workers_) {
      spend(one, end);
      one.cells[open_ % options_.kept] = close(one);
    }
    ++open_;
    if (options_.whole && open_ == options_.kept) {
      halve();
      until = static_cast<std::uint64_t>(now.time_since_epoch() / cell_);
    }
  }
}

void Lanes::halve() {
  for (Lane& one : workers_) {
    for (std::size_t cell = 0; cell < options_.kept / 2; ++cell) {
      for (std::size_t i = 0; i < kCellDigits; ++i) {
        const unsigned both = one.cells[2 * cell][i] + one.cells[2 * cell + 1][i];
        one.cells[cell][i] = static_cast<std::uint8_t>((both + 1) / 2);
      }
    }
  }
  open_ = options_.kept / 2;
  cell_ *= 2;
}

void Lanes::read(double cell_seconds, const std::vector<std::string>& lanes) {
  CHECK(options_.whole && open_ == 0 && workers_.empty());
  cell_ = std::max(Duration{1}, from_seconds(cell_seconds));
  for (const std::string& digits : lanes) {
    Lane& one = lane(WorkerId{static_cast<std::uint32_t>(workers_.size())});
    const std::size_t cells = std::min(digits.size() / kCellDigits, options_.kept - 1);
    for (std::size_t at = 0; at < cells * kCellDigits; ++at) {
      const char digit = digits[at];
      one.cells[at / kCellDigits][at % kCellDigits] =
          static_cast<std::uint8_t>(digit >= 'a' ? digit - 'a' + 10 : digit - '0');
    }
    open_ = std::max<std::uint64_t>(open_, cells);
  }
  for (Lane& one : workers_) {
    one.since = begin_of(open_);
  }
}

void Lanes::set_sending(WorkerId worker, double share) {
  lane(worker).sending = std::clamp(share, 0.0, 1.0);
}

double Lanes::waited(WorkerId worker) const {
  return index(worker) < workers_.size() ? workers_[index(worker)].waited : 0.0;
}

Doing Lanes::doing(WorkerId worker) const {
  return index(worker) < workers_.size() ? workers_[index(worker)].doing : Doing::kAbsent;
}

void Lanes::write(WorkerId worker, std::uint64_t first, std::string& out) const {
  CHECK(first >= oldest());
  constexpr const char* kDigits = "0123456789abcdef";
  const Lane& one = workers_.at(index(worker));
  for (std::uint64_t cell = first; cell < open_; ++cell) {
    for (const std::uint8_t digit : one.cells[cell % options_.kept]) {
      out += kDigits[digit];
    }
  }
}

Lanes::Lane& Lanes::lane(WorkerId worker) {
  while (workers_.size() <= index(worker)) {
    workers_.push_back({.since = begin_of(open_), .cells = std::vector<Cell>(options_.kept)});
  }
  return workers_[index(worker)];
}

void Lanes::spend(Lane& lane, Time until) {
  const double seconds = std::max(0.0, to_seconds(until - lane.since));
  lane.open[static_cast<std::size_t>(lane.doing)] += seconds;
  lane.waited += lane.doing == Doing::kWaiting ? seconds : 0.0;
  lane.since = std::max(lane.since, until);
}

Lanes::Cell Lanes::close(Lane& lane) const {
  constexpr auto kComputing = static_cast<std::size_t>(Doing::kComputing);
  constexpr auto kSending = static_cast<std::size_t>(Doing::kSending);
  lane.open[kSending] = lane.open[kComputing] * lane.sending;
  lane.open[kComputing] -= lane.open[kSending];
  constexpr auto kCancelled = static_cast<std::size_t>(Doing::kCancelled);
  if (std::exchange(lane.cut, false)) {  // Most cancels take no time at all, and are to be seen.
    const double missing = kCutLeast * cell_seconds() - lane.open[kCancelled];
    if (missing > 0.0) {
      const double taken = std::min(missing, lane.open[kComputing]);
      lane.open[kComputing] -= taken;
      lane.open[kCancelled] += taken;
    }
  }
  Cell cell{};
  for (std::size_t i = 0; i < cell.size(); ++i) {
    cell[i] = static_cast<std::uint8_t>(
        std::clamp(std::lround(15.0 * lane.open[i + 1] / cell_seconds()), 0L, 15L));
  }
  lane.open = {};
  return cell;
}

}  // namespace outpace::watch
