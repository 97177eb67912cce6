#include "throughput/gossip_events.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "base/rng.h"

namespace outpace::throughput {
namespace {

class GossipInEvents {
 public:
  explicit GossipInEvents(const GossipOfEvents& gossip)
      : gossip_(gossip),
        timing_(gossip.timing),
        rng_(gossip.seed, 0),
        workers_(gossip.timing.factors.size()) {}

  // Begins of iterations, up to that of the first worker to begin this many: afterwards the others
  // would slow each other less. The last one is the end.
  std::vector<double> run(std::uint32_t iterations) {
    for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) {
      next_.push({Time{}, worker});
    }
    std::vector<double> begun;
    while (true) {
      const Begin now = next_.top();
      next_.pop();
      begun.push_back(to_seconds(now.time.time_since_epoch()));
      if (workers_[now.worker].iteration == iterations) {
        return begun;
      }
      begin(now.worker, now.time);
    }
  }

 private:
  struct Begin {
    Time time;
    std::uint32_t worker;
    bool operator>(const Begin& other) const {
      return std::tie(time, worker) > std::tie(other.time, other.worker);
    }
  };
  struct Worker {
    std::uint64_t iteration = 0;
    Time computed{};  // When the gradient is there.
  };

  void begin(std::uint32_t worker, Time now) {
    Worker& one = workers_[worker];
    one.computed = timing_.finish(WorkerId{worker}, now, 1.0, one.iteration);
    tell(sim::Operation::Kind::kCompute,
         worker,
         timing_.computes_from(WorkerId{worker}, now, one.computed, 1.0, one.iteration),
         one.computed);
    ++one.iteration;
    if (gossip_.pace == job::GossipPace::kFree || workers_.size() == 1) {
      return apply(worker, one.computed);
    }
    std::vector<std::uint32_t>& partners = waiting_[1 - worker % 2];
    if (partners.empty()) {
      waiting_[worker % 2].push_back(worker);
      return;
    }
    std::uint32_t& drawn = partners[rng_.below(partners.size())];
    const std::uint32_t partner = drawn;
    drawn = partners.back();
    partners.pop_back();
    const Time met = now + from_seconds(gossip_.meeting_seconds);
    for (const std::uint32_t side : {worker, partner}) {
      tell(sim::Operation::Kind::kSend, side, now, met);
      apply(side, std::max(met, workers_[side].computed));
    }
  }

  void apply(std::uint32_t worker, Time ready) {
    const Time applied = ready + from_seconds(gossip_.apply_seconds);
    tell(sim::Operation::Kind::kApply, worker, ready, applied);
    next_.push({applied, worker});
  }

  void tell(sim::Operation::Kind kind, std::uint32_t worker, Time begin, Time end) const {
    if (gossip_.performed) {
      gossip_.performed({kind, worker, 0, begin, end});
    }
  }

  const GossipOfEvents& gossip_;
  SampledTiming timing_;
  Rng rng_;
  std::vector<Worker> workers_;
  std::array<std::vector<std::uint32_t>, 2> waiting_;  // For a meeting, by side.
  std::priority_queue<Begin, std::vector<Begin>, std::greater<>> next_;
};

}  // namespace

Rate gossip_rate_by_events(const GossipOfEvents& gossip, std::uint32_t iterations) {
  constexpr std::uint32_t kLeast = 20;
  CHECK(iterations >= kLeast);
  std::vector<double> begun = GossipInEvents(gossip).run(iterations);
  const double end = begun.back();
  begun.pop_back();
  const double first = end / 5.0;  // As with the gradients that a server accepts.
  const double span = (end - first) / kSpansOfRun;
  std::vector<double> rates(kSpansOfRun);
  for (const double time : begun) {
    if (time >= first) {
      const auto at = static_cast<std::size_t>((time - first) / span);
      rates[std::min(at, kSpansOfRun - 1)] += gossip.batch / span;
    }
  }
  return of_spans(rates);
}

}  // namespace outpace::throughput
