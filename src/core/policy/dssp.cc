#include "policy/dssp.h"

#include <algorithm>

#include "base/check.h"

namespace outpace::policy {
namespace {

// From `ready` to the next of the times last + k * runtime, k >= 1.
Duration wait(Time ready, Time last, Duration runtime) {
  const Duration since = ready - last;
  const auto k = std::max<Duration::rep>(1, (since + runtime - Duration{1}) / runtime);
  return last + k * runtime - ready;
}

}  // namespace

bool Dssp::is_behind(const Pace& one, const Pace& other) {
  if (one.clock != other.clock) {
    return one.clock < other.clock;
  }
  const bool both_known = one.runtime > Duration{} && other.runtime > Duration{};
  return both_known ? one.last + one.runtime > other.last + other.runtime
                    : one.runtime < other.runtime;
}

Dssp::Dssp(Options options) : Ssp({.slack = options.low}), options_(options) {
  CHECK(options.low <= options.high);
}

void Dssp::follow(WorkerId worker, std::uint64_t clock) {
  paces_.join(worker).clock = clock;
}

void Dssp::unfollow(WorkerId worker) {
  paces_.leave(worker);
}

void Dssp::finished(Time now, WorkerId worker, Duration runtime) {
  Pace& pace = paces_[worker];
  ++pace.clock;
  pace.last = now;
  if (runtime > Duration{}) {
    pace.runtime = runtime;
  }
}

std::uint64_t Dssp::slack_of(WorkerId worker) {
  const Pace own = paces_[worker];
  Pace slowest = own;
  std::uint64_t most = 0;
  paces_.for_each([&](WorkerId /*other*/, const Pace& pace) {
    most = std::max(most, pace.clock);
    if (is_behind(pace, slowest)) {
      slowest = pace;
    }
  });
  const std::uint64_t ahead = own.clock - slowest.clock;
  const bool known = own.runtime > Duration{} && slowest.runtime > Duration{};
  if (own.clock < most || !known || ahead > options_.high + 1) {
    return options_.low;
  }
  std::uint64_t best = 0;
  Duration least = Duration::max();
  for (std::uint64_t r = 0; r <= options_.high + 1 - ahead; ++r) {
    const Time ready = own.last + static_cast<Duration::rep>(r) * own.runtime;
    const Duration waits = wait(ready, slowest.last, slowest.runtime);
    if (waits < least) {
      least = waits;
      best = r;
    }
  }
  return ahead - 1 + best;
}

}  // namespace outpace::policy
