#include "throughput/fine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <variant>

#include "base/check.h"
#include "base/permutation.h"
#include "base/rng.h"
#include "base/student_t.h"
#include "peer/ring.h"

namespace outpace::throughput {
namespace {

constexpr std::size_t kSpans = kSpansOfRun;
constexpr double kConfidence = 0.95;

// Accepted examples by the time of acceptance.
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
    // The mean is over time, not over spans, because spans have equal commits but not equal
    // seconds. It runs from one worker's commit to another commit of the same worker, so that
    // workers that move in groups, as after a simultaneous start, count as whole groups.
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
    std::size_t worker;  // The worker whose gradient caused it.
  };
  std::vector<std::uint32_t> held_;
  double examples_ = 0.0;
  std::size_t last_ = 0;
  std::vector<Point> at_commits_;
};

}  // namespace

std::uint64_t runs_of_spread(const Spread& spread, std::size_t workers) {
  constexpr std::array<std::uint64_t, 4> kRuns{4, 8, 16, 32};
  constexpr std::size_t kTogether = 64;  // Workers of all runs together, approximately.
  if (spread.seconds == 0.0) {
    return 1;
  }
  const auto* const enough =
      std::ranges::find_if(kRuns, [&](std::uint64_t runs) { return runs * workers >= kTogether; });
  return enough == kRuns.end() ? kRuns.back() : *enough;
}

Rate of_spans(const std::vector<double>& rates) {
  CHECK(rates.size() == kSpans);
  const double mean = std::accumulate(rates.begin(), rates.end(), 0.0) / kSpans;
  double squares = 0.0;
  for (const double rate : rates) {
    squares += (rate - mean) * (rate - mean);
  }
  const double half =
      student_t(kSpans - 1, kConfidence) * std::sqrt(squares / (kSpans - 1) / kSpans);
  return {mean, std::max(0.0, mean - half), mean + half};
}

namespace {

// sqrt(tau_max tau_avg): see efficiency.h.
double effective_staleness(const server::Statistics& counts) {
  const double most =
      counts.staleness.empty() ? 0.0 : static_cast<double>(counts.staleness.size() - 1);
  return std::sqrt(most * counts.staleness_mean());
}

std::unique_ptr<sim::Timing> timing_of(SampledTimingOptions options) {
  const std::uint32_t steps = options.local_steps;
  if (steps == 0) {
    return std::make_unique<SampledTiming>(std::move(options));
  }
  options.besides /= steps;
  return std::make_unique<sim::SteppedTiming>(std::make_unique<SampledTiming>(std::move(options)),
                                              steps);
}

Served one_run(const sim::ClusterOptions& options, const SampledTimingOptions& sampled) {
  const std::unique_ptr<sim::Timing> timing = timing_of(sampled);
  Harvest harvest;
  sim::Cluster cluster(
      options,
      *timing,
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
          .staleness = effective_staleness(counts)};
}

}  // namespace

void perform_by_events(const sim::ClusterOptions& options, const SampledTimingOptions& sampled) {
  SampledTiming timing(sampled);
  (void)sim::Cluster(options, timing, nullptr, nullptr, [](const std::string&) {}).run();
}

std::vector<std::vector<double>> beginnings(const Spread& spread,
                                            std::size_t workers,
                                            std::uint64_t runs) {
  std::vector<std::vector<double>> found(runs, std::vector<double>(workers, spread.from));
  for (std::size_t worker = 1; worker < workers; ++worker) {
    const Permutation parts(runs, spread.seed, worker);
    Rng rng(spread.seed, worker);
    for (std::uint64_t i = 0; i < runs; ++i) {
      const double part = static_cast<double>(parts(i)) + rng.uniform();
      found[i][worker] += spread.seconds * part / static_cast<double>(runs);
    }
  }
  return found;
}

Served serve_by_events(const sim::ClusterOptions& options,
                       const SampledTimingOptions& timing,
                       const Spread& spread) {
  if (spread.seconds == 0.0) {
    return one_run(options, timing);
  }
  const std::uint64_t runs = runs_of_spread(spread, timing.factors.size());
  const auto count = static_cast<double>(runs);
  std::vector<double> rates;
  Served mean{.rate = {0.0, 0.0, 0.0}, .examples_an_update = 0.0, .staleness = 0.0};
  SampledTimingOptions its = timing;
  for (const std::vector<double>& begins : beginnings(spread, timing.factors.size(), runs)) {
    its.begins = begins;
    const Served served = one_run(options, its);
    rates.push_back(served.rate.examples_per_second);
    mean.rate.examples_per_second += rates.back() / count;
    mean.examples_an_update += served.examples_an_update / count;
    mean.staleness += served.staleness / count;
  }
  double squares = 0.0;
  for (const double rate : rates) {
    squares += (rate - mean.rate.examples_per_second) * (rate - mean.rate.examples_per_second);
  }
  const double half =
      student_t(runs - 1, kConfidence) * std::sqrt(squares / (count - 1.0) * (1.0 + 1.0 / count));
  mean.rate.low = std::max(0.0, mean.rate.examples_per_second - half);
  mean.rate.high = mean.rate.examples_per_second + half;
  return mean;
}

namespace {

// Times of one update of a ring.
class RingUpdate {
 public:
  RingUpdate(const RingOfEvents& ring, double begun) : ring_(ring), begun_(from_seconds(begun)) {}

  // Seconds until all have taken the step. `shares`: each worker's examples.
  double run(const std::vector<std::uint32_t>& shares, std::uint32_t iteration) {
    for (std::uint32_t w = 0; w < ring_.factors.size(); ++w) {
      const double share = static_cast<double>(shares[w]) / ring_.batch;
      slept_.push_back(to_seconds(ring_.paces[w].finish(begun_, share, iteration) - begun_));
      computed_.push_back(ring_.factors[w] * share *
                          ring_.computing(WorkerId{w}, iteration, begun_));
    }
    for (std::size_t w = 0; w < slept_.size(); ++w) {
      tell(sim::Operation::Kind::kCompute, w, 0, {slept_[w], slept_[w] + computed_[w]});
    }
    const double summed = sum();
    for (std::size_t w = 0; w < slept_.size(); ++w) {
      tell(sim::Operation::Kind::kApply, w, 0, {summed, summed + ring_.fixed_seconds});
    }
    return summed + ring_.fixed_seconds;
  }

 private:
  struct Span {
    double begin;
    double end;
  };

  double sum() const {
    const auto workers = static_cast<double>(ring_.factors.size());
    double through = 0.0;
    for (std::size_t part = 0; part < ring_.buckets.size(); ++part) {
      const RingOfEvents::Bucket& bucket = ring_.buckets[part];
      double begin = through;
      for (std::size_t w = 0; w < slept_.size(); ++w) {
        begin = std::max(begin, slept_[w] + bucket.ready * computed_[w]);
      }
      through = begin + 2.0 * (workers - 1.0) * (ring_.latency_seconds + bucket.seconds / workers);
      for (std::size_t w = 0; w < slept_.size(); ++w) {
        tell(sim::Operation::Kind::kSend, w, part, {begin, through});
      }
    }
    return through;
  }

  void tell(sim::Operation::Kind kind, std::size_t worker, std::size_t part, Span span) const {
    if (ring_.performed) {
      ring_.performed({kind,
                       static_cast<std::uint32_t>(worker),
                       part,
                       begun_ + from_seconds(span.begin),
                       begun_ + from_seconds(span.end)});
    }
  }

  const RingOfEvents& ring_;
  const Time begun_;
  std::vector<double> slept_;
  std::vector<double> computed_;
};

// All workers of a ring decide alike, so one decides for all here.
peer::Ring ring_of(std::uint32_t workers, std::uint32_t batch, std::uint32_t updates) {
  return peer::Ring({.worker = WorkerId{0},
                     .batches = {.workers = workers,
                                 .batch = batch,
                                 .examples = std::uint64_t{workers} * batch * updates,
                                 .updates = updates}});
}

}  // namespace

Rate ring_rate_by_events(const RingOfEvents& ring, std::uint32_t iterations) {
  CHECK(iterations >= 2 * kSpans && !ring.factors.empty());
  CHECK(!ring.buckets.empty() && ring.buckets.back().ready == 1.0);
  const auto workers = static_cast<std::uint32_t>(ring.factors.size());
  peer::Ring peers = ring_of(workers, ring.batch, iterations);
  protocol::Group group{.generation = 1, .version = {}, .members = {}, .behind = {}};
  for (std::uint32_t w = 0; w < workers; ++w) {
    group.members.push_back(WorkerId{w});
  }
  std::vector<double> ended{0.0};
  peer::Ring::Actions actions = peers.formed(group);
  while (const auto* term = std::get_if<peer::Ring::Compute>(&actions.back())) {
    const auto iteration = static_cast<std::uint32_t>(number(term->sequence) - 1);
    ended.push_back(ended.back() +
                    RingUpdate(ring, ended.back()).run(term->update.shares, iteration));
    actions = peers.summed(/*votes=*/false);
  }
  CHECK(ended.size() == iterations + std::size_t{1});
  std::vector<double> rates;
  for (std::size_t i = 0; i < kSpans; ++i) {
    const std::size_t from = i * iterations / kSpans;
    const std::size_t to = (i + 1) * iterations / kSpans;
    rates.push_back(static_cast<double>(workers) * ring.batch * static_cast<double>(to - from) /
                    (ended[to] - ended[from]));
  }
  return of_spans(rates);
}

}  // namespace outpace::throughput
