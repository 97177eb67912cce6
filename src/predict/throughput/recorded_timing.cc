#include "throughput/recorded_timing.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/median.h"

namespace outpace::throughput {
namespace {

// Ratio of the times at one level and at the other. A median of five is itself random, so levels
// that are nearly equal count as equal; otherwise chance would count twice.
double steps_up(double level, double other) {
  constexpr double kAlike = 1.5;
  const bool alike = level <= kAlike * other && other <= kAlike * level;
  return alike ? 1.0 : level / other;
}

}  // namespace

std::size_t Column::nearest(Time time) const {
  CHECK(!begins.empty());
  const auto after = std::lower_bound(begins.begin(), begins.end(), time);
  if (after == begins.begin()) {
    return 0;
  }
  const auto before = std::prev(after);
  const bool later = after != begins.end() && *after - time < time - *before;
  return static_cast<std::size_t>((later ? after : before) - begins.begin());
}

std::size_t Column::first_from(Time time) const {
  CHECK(!begins.empty());
  const auto found = std::lower_bound(begins.begin(), std::prev(begins.end()), time);
  return static_cast<std::size_t>(found - begins.begin());
}

std::vector<double> levels_of(const std::vector<double>& own) {
  constexpr std::size_t kReach = 2;
  std::vector<double> levels;
  levels.reserve(own.size());
  std::vector<double> window;
  for (std::size_t i = 0; i < own.size(); ++i) {
    // Equal numbers on both sides, or the median would be biased.
    const std::size_t reach = std::min({kReach, i, own.size() - 1 - i});
    const auto middle = own.begin() + static_cast<std::ptrdiff_t>(i);
    const auto distance = static_cast<std::ptrdiff_t>(reach);
    window.assign(middle - distance, middle + distance + 1);
    levels.push_back(upper_median(window));
  }
  return levels;
}

Time Blocks::source(Time time) const {
  const Duration in_record = time.time_since_epoch() % length;
  const auto blocks = static_cast<std::int64_t>(order.size());
  const Duration block = std::max(Duration{1}, length / blocks);
  const std::int64_t number = std::min(in_record / block, blocks - 1);
  return Time{in_record + (order[static_cast<std::size_t>(number)] - number) * block};
}

RecordedTiming::RecordedTiming(const std::vector<Column>& columns,
                               std::vector<Seat> seats,
                               Blocks blocks,
                               const Machine& machine,
                               std::uint32_t local_steps)
    : columns_(columns),
      seats_(std::move(seats)),
      blocks_(std::move(blocks)),
      machine_(machine),
      batches_(std::max(1U, local_steps)),
      readers_(seats_.size()),
      server_(machine.cores == 0 ? 0 : 1),
      cores_(machine.cores) {
  CHECK(blocks_.length > Duration{} && !blocks_.order.empty());
  CHECK(local_steps == 0 || machine_.cores == 0);
}

std::size_t RecordedTiming::next_to_read(const Column& column,
                                         const Reader& reader,
                                         Time at) const {
  constexpr int kReach = 4;  // In iterations of mean length.
  const auto count = static_cast<std::int64_t>(column.begins.size());
  const Duration reach = kReach * (blocks_.length / count);
  const auto ahead = [&](std::size_t place) { return column.begins[place] - at; };
  if (reader.next == column.begins.size()) {
    return column.first_from(at - reach);
  }
  const std::size_t next = reader.next == kNone ? column.first_from(at) : reader.next;
  if (std::abs(ahead(next).count()) <= reach.count()) {
    return next;
  }
  const std::size_t anew = column.first_from(at);
  const bool nearby = std::abs(ahead(next).count()) <= 2 * reach.count();
  if (!nearby && std::abs(ahead(anew).count()) <= reach.count()) {
    return anew;  // The simulation has reached another block.
  }
  return column.first_from(ahead(next) > Duration{} ? at - reach : at + reach);
}

double RecordedTiming::own_seconds(const Column& column,
                                   const Seat& seat,
                                   Reader& reader,
                                   Time at) {
  const Time source = blocks_.source(at + seat.shift);
  const std::size_t read = next_to_read(column, reader, source);
  reader.next = read + 1;
  const std::size_t near = column.nearest(source);
  if (column.level.empty() || read == near) {
    return column.own[read];
  }
  return column.level[read] > 0.0
             ? column.own[read] * steps_up(column.level[near], column.level[read])
             : column.own[near];
}

Time RecordedTiming::finish(WorkerId worker, Time start, double share, std::uint64_t /*iter*/) {
  const Seat& seat = seats_[index(worker)];
  const Column& column = columns_[seat.column];
  Reader& reader = readers_[index(worker)];
  share /= batches_;
  if (start < reader.end) {  // The last mini-batch was cancelled.
    cores_.give_up(start, reader.end, reader.needs);
  }
  reader.own = own_seconds(column, seat, reader, start);
  reader.ready =
      machine_.cores == 0 ? start : server_.finish(start, start, from_seconds(machine_.hand_out));
  reader.needs = from_seconds(share * column.processor_seconds + machine_.take_in);
  reader.end = cores_.finish(start, reader.ready + from_seconds(share * reader.own), reader.needs);
  // A mini-batch takes some time; otherwise a run without other delays would never end.
  return std::max(start + Duration{1}, reader.end);
}

double RecordedTiming::done(WorkerId worker, Time /*start*/, Time now, std::uint64_t /*iter*/) {
  const Reader& reader = readers_[index(worker)];
  if (now < reader.ready) {
    return 0.0;
  }
  return reader.own > 0.0 ? batches_ * to_seconds(now - reader.ready) / reader.own
                          : std::numeric_limits<double>::infinity();
}

Time RecordedTiming::finish_part(
    WorkerId worker, Time /*start*/, Time now, double share, std::uint64_t /*iteration*/) {
  const Reader& reader = readers_[index(worker)];
  // Without local steps, a part is what is done by now.
  return std::max(now, reader.ready + from_seconds(share / batches_ * reader.own));
}

}  // namespace outpace::throughput
