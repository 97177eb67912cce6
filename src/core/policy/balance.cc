#include "policy/balance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "base/median.h"

namespace outpace::policy {

void Balance::Worker::add(double seconds_per_example) {
  seconds[answers % kAnswers] = seconds_per_example;
  // Counts on within [kAnswers, 2 * kAnswers), so that it never overflows.
  answers = answers + 1 == 2 * kAnswers ? kAnswers : answers + 1;
}

double Balance::Worker::median() const {
  std::array<double, kAnswers> sorted = seconds;
  return upper_median(sorted);
}

Balance::Balance(BalanceOptions options) : options_(options) {
  CHECK(options_.most >= 1.0 && options_.most <= kShareMost);
}

void Balance::join(WorkerId worker) {
  workers_.join(worker);
  speeds_.reserve(workers_.live());
}

void Balance::leave(WorkerId worker) {
  somebody_left_ = workers_.leave(worker).known() || somebody_left_;
}

void Balance::answered(WorkerId worker,
                       std::uint32_t examples,
                       std::uint32_t nominal,
                       Duration took) {
  CHECK(examples >= 1 && nominal >= 1);
  if (nominal != nominal_) {
    nominal_ = nominal;
    size_most_ = std::min<double>(UINT32_MAX, std::floor(options_.most * nominal));
  }
  // The clock's grain at least: a speed is finite.
  workers_[worker].add(to_seconds(std::max(took, Duration{1})) / examples);
  ++answers_;
}

void Balance::stopped(WorkerId worker, std::uint32_t examples, Duration after) {
  CHECK(examples >= 1);
  workers_[worker].add(2.0 * to_seconds(std::max(after, Duration{1})) / examples);
  ++answers_;
}

void Balance::ended(WorkerId worker) {
  CHECK(workers_.is_live(worker));
  ++answers_;
}

void Balance::updated() {
  if (somebody_left_ || answers_ >= workers_.live()) {
    begin_round();
  }
}

void Balance::begin_round() {
  answers_ = 0;
  somebody_left_ = false;
  speeds_.clear();
  workers_.for_each([&](WorkerId /*worker*/, Worker& state) {
    if (state.known()) {
      state.speed = 1.0 / state.median();
      speeds_.push_back(state.speed);
    }
  });
  if (speeds_.empty()) {
    return;
  }
  const double per_speed =
      level(static_cast<double>(speeds_.size()) * static_cast<double>(nominal_));
  // Each sum rounded, not each size: so the whole examples add up too, and none is more than one
  // from where it should be.
  double sum = 0.0;
  double given = 0.0;
  workers_.for_each([&](WorkerId /*worker*/, Worker& state) {
    if (state.known()) {
      sum += bounded(per_speed * state.speed);
      const double whole = std::clamp(std::round(sum) - given, 1.0, size_most_);
      state.size = static_cast<std::uint32_t>(whole);
      given += whole;
    }
  });
}

void Balance::keep(Archive& archive) {
  workers_.for_each([&](WorkerId /*worker*/, const Worker& state) {
    somebody_left_ = somebody_left_ || (!archive.reads() && state.known());
  });
  archive("nominal", nominal_)("size_most", size_most_)("answers", answers_);
  archive("somebody_left", somebody_left_);
}

double Balance::level(double total) const {
  double sum = 0.0;
  double slowest = speeds_.front();
  double fastest = speeds_.front();
  for (const double speed : speeds_) {
    sum += speed;
    slowest = std::min(slowest, speed);
    fastest = std::max(fastest, speed);
  }
  const double unbounded = total / sum;
  if (unbounded * slowest >= 1.0 && unbounded * fastest <= size_most_) {
    return unbounded;
  }
  // The bounded sum grows with the level: bisect, until there is no number in between.
  double low = 0.0;
  double high = size_most_ / slowest;
  for (double middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2) {
    double found = 0.0;
    for (const double speed : speeds_) {
      found += bounded(middle * speed);
    }
    (found < total ? low : high) = middle;
  }
  return high;
}

double Balance::bounded(double size) const {
  return std::clamp(size, 1.0, size_most_);
}

}  // namespace outpace::policy
