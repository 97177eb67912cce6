#include "throughput/fine.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "base/check.h"

namespace outpace::throughput {
namespace {

constexpr std::size_t kSpans = 8;
constexpr double kStudent = 2.365;  // 97.5 % of Student's t with kSpans - 1 degrees of freedom.

// Examples by the time at which their gradients were accepted.
class Harvest {
 public:
  void decided(Time now, const policy::Event& event, const policy::Decision& decision) {
    if (const auto* arrived = std::get_if<policy::GradientArrived>(&event)) {
      held_.resize(std::max(held_.size(), index(arrived->worker) + 1));
      held_[index(arrived->worker)] = arrived->examples;
      last_ = index(arrived->worker);
    }
    for (const policy::Action& action : decision.actions) {
      if (const auto* accepted = std::get_if<policy::Accept>(&action)) {
        examples_ += held_[index(accepted->worker)];
      } else if (std::holds_alternative<policy::Commit>(action)) {
        at_commits_.push_back({to_seconds(now.time_since_epoch()), examples_, last_});
      }
    }
  }

  [[nodiscard]] Rate rate() const {
    CHECK(at_commits_.size() > 2 * kSpans);
    // Spans begin and end with a commit.
    const std::size_t first = at_commits_.size() / 5;
    const std::size_t rest = at_commits_.size() - 1 - first;
    std::vector<double> rates;
    for (std::size_t i = 0; i < kSpans; ++i) {
      const Point& from = at_commits_[first + i * rest / kSpans];
      const Point& to = at_commits_[first + (i + 1) * rest / kSpans];
      rates.push_back((to.examples - from.examples) / std::max(1e-9, to.seconds - from.seconds));
    }
    Rate spans = of_spans(rates);
    // The mean over time, not over spans: these have as many commits, not as many seconds.
    // From one worker's commit to another of it: workers that come in groups, as after a start at
    // the same time, are then counted as whole groups.
    const Point& begin = at_commits_[first];
    const auto same = std::find_if(at_commits_.rbegin(), at_commits_.rend(), [&](const Point& one) {
      return one.worker == begin.worker;
    });
    const Point& last = at_commits_.back();
    const bool far = 2.0 * (same->seconds - begin.seconds) > last.seconds - begin.seconds;
    const Point& end = far ? *same : last;
    const double mean = (end.examples - begin.examples) / (end.seconds - begin.seconds);
    const double shift = mean - spans.examples_per_second;
    return {mean, std::max(0.0, spans.low + shift), spans.high + shift};
  }

 private:
  struct Point {
    double seconds;
    double examples;
    std::size_t worker;  // Whose gradient it was that made it.
  };
  std::vector<std::uint32_t> held_;
  double examples_ = 0.0;
  std::size_t last_ = 0;
  std::vector<Point> at_commits_;
};

}  // namespace

Rate of_spans(const std::vector<double>& rates) {
  CHECK(rates.size() == kSpans);
  const double mean = std::accumulate(rates.begin(), rates.end(), 0.0) / kSpans;
  double squares = 0.0;
  for (const double rate : rates) {
    squares += (rate - mean) * (rate - mean);
  }
  const double half = kStudent * std::sqrt(squares / (kSpans - 1) / kSpans);
  return {mean, std::max(0.0, mean - half), mean + half};
}

Served serve_by_events(const sim::ClusterOptions& options, sim::Timing& timing) {
  Harvest harvest;
  sim::Cluster cluster(
      options,
      timing,
      nullptr,
      [&harvest](Time now, const policy::Event& event, const policy::Decision& decision) {
        harvest.decided(now, event, decision);
      },
      [](const std::string&) {});
  const sim::ClusterResult result = cluster.run();
  const server::Statistics& counts = result.statistics;
  return {.rate = harvest.rate(),
          .examples_an_update =
              static_cast<double>(counts.examples_applied) / static_cast<double>(counts.updates),
          .staleness = counts.staleness_mean()};
}

Rate ring_rate_by_events(const RingOfEvents& ring, std::uint32_t iterations) {
  CHECK(iterations >= 2 * kSpans && !ring.factors.empty());
  const auto workers = static_cast<double>(ring.factors.size());
  std::vector<double> ended{0.0};
  for (std::uint32_t i = 0; i < iterations; ++i) {
    const Time begun{from_seconds(ended.back())};
    double slowest = 0.0;
    for (std::uint32_t w = 0; w < ring.factors.size(); ++w) {
      slowest = std::max(slowest, ring.factors[w] * ring.computing(WorkerId{w}, i, begun));
    }
    double through = 0.0;
    for (const RingOfEvents::Bucket& bucket : ring.buckets) {
      const double begin = std::max(through, bucket.ready * slowest);
      through = begin + 2.0 * (workers - 1.0) * (ring.latency_seconds + bucket.seconds / workers);
    }
    ended.push_back(ended.back() + std::max(through, slowest) + ring.fixed_seconds);
  }
  std::vector<double> rates;
  for (std::size_t i = 0; i < kSpans; ++i) {
    const std::size_t from = i * iterations / kSpans;
    const std::size_t to = (i + 1) * iterations / kSpans;
    rates.push_back(workers * ring.batch * static_cast<double>(to - from) /
                    (ended[to] - ended[from]));
  }
  return of_spans(rates);
}

}  // namespace outpace::throughput
