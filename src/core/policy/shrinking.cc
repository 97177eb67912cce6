#include "policy/shrinking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/median.h"

namespace outpace::policy {
namespace {

constexpr double kShareLeast = 1.0 / 65536.0;
constexpr int kHalvingsMost = 16;  // 2^-16 is the least share.
constexpr int kInTimePerHalving = 8;
constexpr double kNormal = 1.5;  // In medians: a time up to this is nobody's straggler.

}  // namespace

void Shrinking::join(WorkerId worker) {
  workers_.join(worker);
  scratch_.reserve(workers_.live());
}

void Shrinking::leave(WorkerId worker) {
  workers_.leave(worker);
}

void Shrinking::arrived(const GradientArrived& gradient, bool late) {
  Worker& state = workers_[gradient.worker];
  state.timed = true;
  state.time = to_seconds(gradient.runtime) * gradient.nominal / gradient.examples;
  if (late) {
    this->late(state);
    return;
  }
  if (!state.straggler) {
    return;
  }
  if (state.time <= kNormal * median_time()) {
    state.straggler = false;
  } else if (++state.in_time == kInTimePerHalving) {
    state.in_time = 0;
    state.halvings = std::max(state.halvings - 1, 0);
  }
}

void Shrinking::late(Worker& state) {
  state.halvings = state.straggler ? std::min(state.halvings + 1, kHalvingsMost) : 0;
  state.straggler = true;
  state.in_time = 0;
}

void Shrinking::interrupted(WorkerId worker, std::optional<double> seconds) {
  Worker& state = workers_[worker];
  if (seconds) {
    state.timed = true;
    state.time = *seconds;
  }
  late(state);
}

double Shrinking::share(WorkerId worker) {
  const Worker& state = workers_[worker];
  if (!state.straggler) {
    return 1.0;
  }
  const double median = median_time();
  const double of_median = median > 0.0 && state.time > median ? median / state.time : 1.0;
  return std::max(std::ldexp(of_median, -state.halvings), kShareLeast);
}

double Shrinking::median_time() {
  scratch_.clear();
  workers_.for_each([&](WorkerId /*worker*/, const Worker& state) {
    if (state.timed) {
      scratch_.push_back(state.time);
    }
  });
  if (scratch_.empty()) {
    return 0.0;
  }
  return lower_median(scratch_);
}

}  // namespace outpace::policy
