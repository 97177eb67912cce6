// How a board goes on with a run that several servers had, one after another.
// Tested by src/see/watch/board_past_test.cc.

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "watch/board.h"

namespace outpace::watch {
namespace {

using nlohmann::json;

// An item of a list, or a field of an object; null where there is none.
template <typename Key>
const json& at(const json& value, const Key& key) {
  static const json kNone;
  if constexpr (std::is_integral_v<Key>) {
    return value.is_array() && key < value.size() ? value[key] : kNone;
  } else {
    const auto found = value.find(key);
    return value.is_object() && found != value.end() ? *found : kNone;
  }
}

double real(const json& value) {
  return value.is_number() ? value.get<double>() : 0.0;
}

std::optional<double> real_or_none(const json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::uint64_t whole(const json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

std::string text(const json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

const json& list(const json& value) {
  static const json kEmpty = json::array();
  return value.is_array() ? value : kEmpty;
}

// As board_json.cc writes it.
Point point_of(const json& line) {
  std::size_t next = 0;
  Point point;
  point.seconds = real(at(line, next++));
  point.version = whole(at(line, next++));
  point.gradients = whole(at(line, next++));
  point.applied = whole(at(line, next++));
  point.dropped = real(at(line, next++));
  point.cancelled = real(at(line, next++));
  point.waiting = real(at(line, next++));
  point.loss = real_or_none(at(line, next++));
  point.live = static_cast<std::uint32_t>(whole(at(line, next++)));
  point.update_seconds = real(at(line, next++));
  point.gain = real(at(line, next++));
  return point;
}

Evaluated evaluated_of(const json& line) {
  Evaluated found{.seconds = real(at(line, 0U)),
                  .version = whole(at(line, 1U)),
                  .examples = whole(at(line, 2U)),
                  .accuracy = real_or_none(at(line, 3U)),
                  .loss = real_or_none(at(line, 4U))};
  for (std::size_t i = 5; i < line.size(); ++i) {
    found.values.push_back({.name = text(at(line[i], 0U)), .value = real(at(line[i], 1U))});
  }
  return found;
}

WorkerView worker_of(const json& one) {
  WorkerView view;
  view.joined = static_cast<std::uint32_t>(whole(at(one, "joined")));
  view.accepted = whole(at(one, "accepted"));
  view.dropped = whole(at(one, "dropped"));
  view.abandoned = whole(at(one, "cancelled"));
  view.host = text(at(one, "host"));
  return view;
}

// What `one_of` makes of each item of the list.
template <typename OneOf>
auto all_of(const json& items, OneOf one_of) {
  std::vector<decltype(one_of(items))> all;
  for (const json& one : list(items)) {
    all.push_back(one_of(one));
  }
  return all;
}

}  // namespace

void Board::goes_on(Time now, std::uint64_t version) {
  reach(now);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const WorkerId id{static_cast<std::uint32_t>(i)};
    workers_[i].live = false;
    workers_[i].open = false;
    become(id, Doing::kAbsent);
    slow_.forget(id);
    alarms_.end(
        {.at = now_,
         .kind = AlarmKind::kSlow,
         .worker = id,
         .words = fmt::format("another server goes on: worker {}'s past counts no longer", i)});
  }
  slow_alarms_.forget_all();
  updates_.clear();
  sums_.live = 0;
  sums_.version = version;
  accepted_ = 0;
  pending_ = 0;
  last_update_ = now_;
  news_line(fmt::format("another server goes on from update {}", version));
}

void Board::remember(const std::string& frame) {
  const json past = json::parse(frame, nullptr, /*allow_exceptions=*/false);
  if (!past.is_object()) {
    return;
  }
  now_ = Time{from_seconds(std::max(0.0, real(at(past, "now"))))};
  std::vector<Point> points = all_of(at(past, "points"), point_of);
  if (!points.empty()) {
    sums_ = points.back();
    const double apart = (points.back().seconds - points.front().seconds) /
                         static_cast<double>(std::max<std::size_t>(1, points.size() - 1));
    const double newest = points.back().seconds;
    course_.go_on(std::move(points), apart, newest);
  }
  for (const Evaluated& found : all_of(at(past, "evaluations"), evaluated_of)) {
    evaluations_.add(found.seconds, found);
  }
  staleness_ = all_of(at(past, "staleness"), whole);
  if (const double cell = real(at(at(past, "about"), "cell")); cell > 0.0) {
    whole_.read(cell, all_of(at(past, "lanes"), text));
  }
  workers_ = all_of(at(past, "workers"), worker_of);
  for (const WorkerView& one : workers_) {
    gradients_dropped_ += one.dropped;
    gradients_cancelled_ += one.abandoned;
  }
  for (const json& line : list(at(past, "news"))) {
    news_.add() = {.at = Time{from_seconds(real(at(line, 0U)))}, .words = text(at(line, 1U))};
  }
  restarts_ = whole(at(past, "restarts"));
  checkpoints_ = whole(at(past, "checkpoints"));
  if (const std::string names = text(at(past, "policy")); !names.empty()) {
    about_.name = names;
  }
}

}  // namespace outpace::watch
