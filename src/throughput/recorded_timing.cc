#include "throughput/recorded_timing.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace outpace::throughput {
namespace {

// 0, 1, -1, 2, -2, ...
std::int64_t offset(std::uint64_t uses) {
  const auto step = static_cast<std::int64_t>((uses + 1) / 2);
  return uses % 2 == 1 ? step : -step;
}

// Walks off an end come back in, as from a mirror.
std::size_t reflected(std::int64_t place, std::size_t count) {
  const auto last = static_cast<std::int64_t>(count) - 1;
  if (last == 0) {
    return 0;
  }
  const std::int64_t period = 2 * last;
  const std::int64_t rest = ((place % period) + period) % period;
  return static_cast<std::size_t>(rest <= last ? rest : period - rest);
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

std::vector<double> levels_of(const std::vector<double>& own) {
  constexpr std::size_t kReach = 2;
  std::vector<double> levels;
  levels.reserve(own.size());
  std::vector<double> window;
  for (std::size_t i = 0; i < own.size(); ++i) {
    // As many on either side, or the median would lean.
    const std::size_t reach = std::min({kReach, i, own.size() - 1 - i});
    const auto middle = own.begin() + static_cast<std::ptrdiff_t>(i);
    const auto distance = static_cast<std::ptrdiff_t>(reach);
    window.assign(middle - distance, middle + distance + 1);
    std::nth_element(window.begin(), window.begin() + distance, window.end());
    levels.push_back(window[reach]);
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
                               const Machine& machine)
    : columns_(columns),
      seats_(std::move(seats)),
      blocks_(std::move(blocks)),
      machine_(machine),
      readers_(seats_.size()),
      server_(machine.cores == 0 ? 0 : 1),
      cores_(machine.cores) {
  CHECK(blocks_.length > Duration{} && !blocks_.order.empty());
}

double RecordedTiming::own_seconds(const Column& column,
                                   const Seat& seat,
                                   Reader& reader,
                                   Time at) {
  const std::size_t near = column.nearest(blocks_.source(at + seat.shift));
  reader.uses = near == reader.near ? reader.uses + 1 : 0;
  reader.near = near;
  const std::size_t other =
      reflected(static_cast<std::int64_t>(near) + offset(reader.uses), column.own.size());
  if (column.level.empty() || other == near) {
    return column.own[other];
  }
  return column.level[other] > 0.0 ? column.own[other] * column.level[near] / column.level[other]
                                   : column.own[near];
}

Time RecordedTiming::finish(WorkerId worker, Time start, double share, std::uint64_t /*iter*/) {
  const Seat& seat = seats_[index(worker)];
  const Column& column = columns_[seat.column];
  Reader& reader = readers_[index(worker)];
  if (start < reader.end) {  // The last one was cancelled.
    cores_.give_up(start, reader.end, reader.needs);
  }
  reader.own = own_seconds(column, seat, reader, start);
  reader.ready =
      machine_.cores == 0 ? start : server_.finish(start, start, from_seconds(machine_.hand_out));
  reader.needs = from_seconds(share * column.processor_seconds + machine_.take_in);
  reader.end = cores_.finish(start, reader.ready + from_seconds(share * reader.own), reader.needs);
  // A mini-batch takes some time, or a run without any other delay would not end.
  return std::max(start + Duration{1}, reader.end);
}

double RecordedTiming::done(WorkerId worker, Time /*start*/, Time now, std::uint64_t /*iter*/) {
  const Reader& reader = readers_[index(worker)];
  if (now < reader.ready) {
    return 0.0;
  }
  return reader.own > 0.0 ? to_seconds(now - reader.ready) / reader.own
                          : std::numeric_limits<double>::infinity();
}

}  // namespace outpace::throughput
