#include "throughput/runtime_computing.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::throughput {
namespace {

// Far enough apart that slow phases have passed, as far as they ever do.
constexpr std::uint64_t kIterationsApart = 61;
constexpr std::size_t kMoments = 64;
constexpr std::size_t kDrawsOfMoment = 16;
constexpr std::size_t kDrawsKept = 256;   // For order statistics; more of few workers.
constexpr std::size_t kDrawsMost = 4096;  // For means.
constexpr std::size_t kDrawsOfAll = 400'000;
constexpr std::size_t kDrawsKeptOfAll = 32'768;

// Moments are kIterationsApart mini-batches of the slowest worker apart, but the last is at most
// three weeks in, which the clock can represent.
Time moment(const sim::Runtimes& runtimes, std::size_t number) {
  constexpr double kApartMost = 3e4;
  double slowest = 0.0;
  for (const sim::Runtimes::Class& one : runtimes.classes()) {
    const double mean = one.distribution->mean();
    slowest = std::max(slowest, std::isfinite(mean) ? mean : 0.0);
  }
  const double apart = std::min(static_cast<double>(kIterationsApart) * slowest, kApartMost);
  return Time{from_seconds(apart * static_cast<double>(number))};
}

bool hang_on_time(const sim::Runtimes& runtimes) {
  for (std::uint32_t worker = 0; worker < runtimes.workers(); ++worker) {
    for (std::size_t i = 1; i < kMoments; ++i) {
      const WorkerId id{worker};
      if (runtimes.at(id, i, moment(runtimes, i)) != runtimes.at(id, i, Time{})) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

Computing computing_of_runtimes(const sim::Runtimes& runtimes, const std::vector<double>& factors) {
  const std::uint32_t workers = runtimes.workers();
  CHECK(factors.size() == workers);
  const auto seconds = [&](std::uint32_t worker, std::uint64_t iteration, Time start) {
    return factors[worker] * runtimes.at(WorkerId{worker}, iteration * kIterationsApart, start);
  };
  if (hang_on_time(runtimes)) {
    return draw_computing(kMoments,
                          kDrawsOfMoment,
                          workers,
                          [&](std::size_t period, std::size_t draw, std::uint32_t worker) {
                            return seconds(
                                worker, period * kDrawsOfMoment + draw, moment(runtimes, period));
                          });
  }
  const std::size_t draws = std::clamp(kDrawsOfAll / workers, kDrawsKept, kDrawsMost);
  Computing computing =
      draw_computing(1, draws, workers, [&](std::size_t, std::size_t draw, std::uint32_t worker) {
        return seconds(worker, draw, Time{});
      });
  computing.front().draws.resize(std::clamp(kDrawsKeptOfAll / workers, kDrawsKept, draws));
  return computing;
}

}  // namespace outpace::throughput
