#include "worker/pace.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/spec.h"
#include "base/text.h"

namespace outpace::worker {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A cell's beginning, for a message: a binary file taken for a trace must not fill the screen.
std::string excerpt(std::string_view cell) {
  constexpr std::size_t kLettersMax = 24;
  std::string text(cell.substr(0, kLettersMax));
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return "'" + text + (cell.size() > kLettersMax ? "...'" : "'");
}

std::string numbers_of_seconds(std::size_t workers) {
  return workers == 1 ? "1 number of seconds" : std::to_string(workers) + " numbers of seconds";
}

// A point of the run's clock as cycles of the trace, a row in the cycle and a time in the row.
struct Position {
  std::int64_t cycle;
  std::size_t row;
  Duration into_row;
};
Position position(Time time, Duration period, std::size_t rows) {
  const std::int64_t elapsed = time.time_since_epoch().count();
  const std::int64_t begun = elapsed >= 0 ? elapsed : elapsed - (period.count() - 1);
  const std::int64_t slot = begun / period.count();  // Rounds down, also before the run began.
  const auto [quotient, rest] = std::lldiv(slot, static_cast<std::int64_t>(rows));
  const bool before = rest < 0;
  return {before ? quotient - 1 : quotient,
          static_cast<std::size_t>(before ? rest + static_cast<std::int64_t>(rows) : rest),
          Duration{elapsed - slot * period.count()}};
}

}  // namespace

DelayTrace DelayTrace::parse(std::string_view text, const std::string& name, std::size_t workers) {
  CHECK(workers >= 1);
  DelayTrace trace(workers);
  std::size_t number = 0;
  for (const std::string_view whole_line : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(whole_line);
    if (!line.empty() && line.front() != '#') {
      trace.append(line, name + ":" + std::to_string(number));
    }
  }
  if (trace.seconds_.empty()) {
    throw usage_error(name + ": no delays; rows of " + numbers_of_seconds(workers) +
                      " were expected, one for each worker");
  }
  return trace;
}

void DelayTrace::append(std::string_view line, const std::string& place) {
  const auto columns = 1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
  if (columns != workers_) {
    throw usage_error(place + ": " + std::to_string(columns) +
                      (columns == 1 ? " column; " : " columns; ") + std::to_string(workers_) +
                      (workers_ == 1 ? " was" : " were") + " expected, one for each worker");
  }
  std::size_t column = 0;
  for (const std::string_view whole_cell : split(line, ',')) {
    ++column;
    const std::string_view cell = trim(whole_cell);
    const auto seconds = parse_number(cell);
    if (!seconds || *seconds < 0 || *seconds > kDelaySecondsMax) {
      throw usage_error(place + ": column " + std::to_string(column) + " is " + excerpt(cell) +
                        "; a number of seconds " +
                        (seconds ? "from 0 to 1000000 was expected" : "was expected"));
    }
    seconds_.push_back(*seconds);
  }
}

std::vector<double> DelayTrace::column(WorkerId worker) const {
  CHECK(index(worker) < workers_);
  std::vector<double> column;
  column.reserve(rows());
  for (std::size_t i = index(worker); i < seconds_.size(); i += workers_) {
    column.push_back(seconds_[i]);
  }
  return column;
}

Slow Slow::parse(std::string_view text, std::size_t workers) {
  // The grammar of every choice, without the name: the option's own name stands for it.
  Spec spec = Spec::parse("slow:" + std::string(text));
  spec.text = text;
  SpecReader reader("slow worker", spec);
  Slow slow{};
  slow.worker =
      WorkerId{static_cast<std::uint32_t>(reader.count("worker", std::nullopt, 0, workers - 1))};
  slow.factor = reader.number("factor", std::nullopt, 1.0, kSlowFactorMax);
  reader.finish();
  return slow;
}

double slow_factor(std::span<const Slow> slow, WorkerId worker) {
  double factor = 1.0;
  for (const Slow& one : slow) {
    factor *= one.worker == worker ? one.factor : 1.0;
  }
  return std::min(factor, kSlowFactorMax);
}

Pace::Pace(const PaceOptions& options)
    : by_(options.by), period_(options.period), factor_(options.factor) {
  CHECK(period_ >= Duration{1});
  CHECK(factor_ >= 1.0 && factor_ <= kSlowFactorMax);
}

Pace::Pace(const DelayTrace& trace, WorkerId worker, const PaceOptions& options) : Pace(options) {
  delays_ = trace.column(worker);
  work_.assign(1, 0.0);
  for (double& delay : delays_) {
    delay *= factor_;
    work_.push_back(work_.back() + (delay > 0 ? to_seconds(period_) / delay : 0.0));
  }
  // Twice round, so that the last rows find the first ones.
  next_zero_.assign(delays_.size(), delays_.size() + 1);
  std::size_t distance = delays_.size() + 1;
  for (std::size_t i = 2 * delays_.size(); i-- > 0;) {
    const std::size_t row = i % delays_.size();
    distance = delays_[row] > 0 ? std::min(distance + 1, delays_.size() + 1) : 0;
    next_zero_[row] = distance;
  }
}

bool Pace::meets_zero_delay(Time start, Time now) const {
  const Position from = position(start, period_, delays_.size());
  const Position to = position(now, period_, delays_.size());
  const std::size_t ahead = next_zero_[from.row];
  if (ahead > delays_.size()) {
    return false;
  }
  const auto rows = static_cast<std::int64_t>(delays_.size());
  // Rows begun since; the reader of a long run may have seen more cycles than a product can hold.
  return to.cycle - from.cycle > 1 || (to.cycle - from.cycle) * rows +
                                              static_cast<std::int64_t>(to.row) -
                                              static_cast<std::int64_t>(from.row) >=
                                          static_cast<std::int64_t>(ahead);
}

double Pace::work_before(std::size_t row, Duration into_row) const {
  const double delay = delays_[row];
  return work_[row] + (delay > 0 ? to_seconds(into_row) / delay : 0.0);
}

double Pace::done_by_time(Time start, Time now) const {
  if (meets_zero_delay(start, now)) {
    return kInfinity;
  }
  const Position from = position(start, period_, delays_.size());
  const Position to = position(now, period_, delays_.size());
  // Counted from the cycle in which it began: late in a run there are no more digits to lose.
  return static_cast<double>(to.cycle - from.cycle) * work_.back() +
         (work_before(to.row, to.into_row) - work_before(from.row, from.into_row));
}

double Pace::done(Time start, Time now, std::uint64_t iteration) const {
  if (now < start) {
    return 0.0;
  }
  if (delays_.empty()) {
    return kInfinity;
  }
  if (by_ == DelaysBy::kTime) {
    return done_by_time(start, now);
  }
  const double delay = delays_[iteration % delays_.size()];
  return delay > 0 ? to_seconds(now - start) / delay : kInfinity;
}

Time Pace::finish(Time start, double share, std::uint64_t iteration) const {
  CHECK(share >= 0 && std::isfinite(share));
  if (share == 0 || delays_.empty()) {
    return start;
  }
  // By bisection on done(), so that the two agree to the nanosecond whatever is rounded where. No
  // row is slower than the slowest, which bounds the search; 1e9 s keep it far from an overflow.
  const double slowest = *std::max_element(delays_.begin(), delays_.end());
  Duration early{-1};
  Duration late = from_seconds(std::min(1e9, share * slowest)) + Duration{1};
  while (late - early > Duration{1}) {
    const Duration middle = early + (late - early) / 2;
    (done(start, start + middle, iteration) >= share ? late : early) = middle;
  }
  return start + late;
}

double Pace::extra_seconds(double compute_seconds) const {
  return delays_.empty() ? (factor_ - 1.0) * compute_seconds : 0.0;
}

}  // namespace outpace::worker
