#include "throughput/coarse.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include "base/check.h"
#include "throughput/policy_rate.h"

namespace outpace::throughput {
namespace {

constexpr std::size_t kStations = 3;
using PerStation = std::array<double, kStations>;

// The stations: link down, link up, applying.
struct Stations {
  PerStation service;
  std::array<bool, kStations> in_order;
};

// Seconds at a station for a customer that finds `ahead` others there. At a first-come,
// first-served station with constant service times, the one in service is half done on average
// (Reiser, 1979). At a fairly shared link the distribution of sizes does not matter.
double residence(const Stations& stations, std::size_t k, double ahead, double busy) {
  return stations.service[k] * (1.0 + ahead - (stations.in_order[k] ? 0.5 * busy : 0.0));
}

// Exact mean-value analysis if all workers have the same delay: adds one worker at a time.
double rate_of_equals(std::size_t workers, double delay, const Stations& stations) {
  PerStation queue{};
  double rate = 0.0;
  for (std::size_t n = 1; n <= workers; ++n) {
    PerStation at{};
    double cycle = delay;
    for (std::size_t k = 0; k < kStations; ++k) {
      at[k] = residence(stations, k, queue[k], std::min(1.0, rate * stations.service[k]));
      cycle += at[k];
    }
    rate = static_cast<double>(n) / cycle;
    for (std::size_t k = 0; k < kStations; ++k) {
      queue[k] = rate * at[k];
    }
  }
  return rate;
}

std::vector<double> rates_of_unequals(const std::vector<double>& delays, const Stations& stations) {
  constexpr int kSweepsMost = 200;
  constexpr double kClose = 1e-9;
  const std::size_t workers = delays.size();
  std::vector<double> rates(workers, 0.0);
  std::vector<PerStation> queues(workers, PerStation{});
  for (int sweep = 0; sweep < kSweepsMost; ++sweep) {
    PerStation all{};
    PerStation busy{};
    for (std::size_t w = 0; w < workers; ++w) {
      for (std::size_t k = 0; k < kStations; ++k) {
        all[k] += queues[w][k];
        busy[k] += rates[w] * stations.service[k];
      }
    }
    double moved = 0.0;
    for (std::size_t w = 0; w < workers; ++w) {
      PerStation at{};
      double cycle = delays[w];
      for (std::size_t k = 0; k < kStations; ++k) {
        const double others_busy = std::clamp(busy[k] - rates[w] * stations.service[k], 0.0, 1.0);
        at[k] = residence(stations, k, all[k] - queues[w][k], others_busy);
        cycle += at[k];
      }
      moved = std::max(moved, std::abs(1.0 / cycle - rates[w]) * cycle);
      rates[w] = 1.0 / cycle;
      for (std::size_t k = 0; k < kStations; ++k) {
        queues[w][k] = rates[w] * at[k];
      }
    }
    if (moved < kClose) {
      break;
    }
  }
  return rates;
}

double down_seconds(std::size_t workers, const ServedCluster& cluster) {
  return std::max(static_cast<double>(workers) * cluster.down_seconds(),
                  cluster.own_down_seconds());
}

// The times at which the workers of a round have computed, in order.
std::vector<double> computed_at(const std::vector<double>& draw,
                                const ServedCluster& cluster,
                                Heuristics heuristics) {
  const double all_down = down_seconds(draw.size(), cluster);
  std::vector<double> at = draw;
  for (std::size_t w = 0; w < at.size(); ++w) {
    at[w] += cluster.in_turn && heuristics == Heuristics::kWith ? down_seconds(w + 1, cluster)
                                                                : all_down;
  }
  std::sort(at.begin(), at.end());
  return at;
}

double round_seconds(const std::vector<double>& computed,
                     std::uint32_t cutoff,
                     const ServedCluster& cluster,
                     Heuristics heuristics) {
  const double each = cluster.up_seconds() + cluster.apply_seconds;
  const double least = cluster.own_up_seconds() + cluster.apply_seconds;
  if (heuristics == Heuristics::kWithout) {
    return cluster.fixed_seconds + computed[cutoff - 1] + std::max(cutoff * each, least);
  }
  double done = 0.0;
  for (std::uint32_t k = 1; k <= cutoff; ++k) {
    done = std::max(done, computed[k - 1] + std::max((cutoff - k + 1) * each, least));
  }
  return cluster.fixed_seconds + done;
}

// Seconds until the `cutoff`-th gradient if each worker begins anew when it is done. The times of
// its mini-batches are those of this draw and of the next ones.
double restarting_seconds(const Period& period, std::size_t draw, std::uint32_t cutoff) {
  struct Next {
    double when;
    std::size_t worker;
    std::size_t draw;
    bool operator>(const Next& other) const { return when > other.when; }
  };
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
  for (std::size_t worker = 0; worker < period.mean.size(); ++worker) {
    next.push({period.draws[draw][worker], worker, draw});
  }
  for (std::uint32_t i = 1; i < cutoff; ++i) {
    Next one = next.top();
    next.pop();
    one.draw = (one.draw + 1) % period.draws.size();
    one.when += period.draws[one.draw][one.worker];
    next.push(one);
  }
  return next.top().when;
}

double mean_over_draws(const Period& period,
                       const std::function<double(const std::vector<double>&)>& seconds) {
  double sum = 0.0;
  for (const std::vector<double>& draw : period.draws) {
    sum += seconds(draw);
  }
  return sum / static_cast<double>(period.draws.size());
}

double cutoff_rate(const Period& period,
                   std::uint32_t cutoff,
                   const ServedCluster& cluster,
                   Heuristics heuristics) {
  return cutoff / mean_over_draws(period, [&](const std::vector<double>& draw) {
           return round_seconds(
               computed_at(draw, cluster, heuristics), cutoff, cluster, heuristics);
         });
}

struct BestCutoff {
  std::uint32_t cutoff;
  double rate;
};

BestCutoff best_cutoff_of(const Period& period,
                          const ServedCluster& cluster,
                          Heuristics heuristics) {
  const auto workers = static_cast<std::uint32_t>(period.mean.size());
  std::vector<double> seconds(workers, 0.0);
  for (const std::vector<double>& draw : period.draws) {
    const std::vector<double> computed = computed_at(draw, cluster, heuristics);
    for (std::uint32_t cutoff = 1; cutoff <= workers; ++cutoff) {
      seconds[cutoff - 1] += round_seconds(computed, cutoff, cluster, heuristics);
    }
  }
  BestCutoff best{1, 0.0};
  for (std::uint32_t cutoff = 1; cutoff <= workers; ++cutoff) {
    const double rate = cutoff * static_cast<double>(period.draws.size()) / seconds[cutoff - 1];
    if (rate > best.rate) {
      best = {cutoff, rate};
    }
  }
  return best;
}

double restarting_rate(const Period& period, std::uint32_t cutoff, const ServedCluster& cluster) {
  const double each = cluster.up_seconds() + cluster.apply_seconds;
  double seconds = 0.0;
  for (std::size_t draw = 0; draw < period.draws.size(); ++draw) {
    seconds += cluster.fixed_seconds + down_seconds(period.mean.size(), cluster) +
               std::max(restarting_seconds(period, draw, cutoff) + each, cutoff * each);
  }
  return cutoff * static_cast<double>(period.draws.size()) / seconds;
}

// Each worker's rate without a barrier.
std::vector<double> free_rates(const Period& period,
                               const ServedCluster& cluster,
                               Heuristics heuristics) {
  std::vector<double> delays = period.mean;
  const double both = cluster.gradient_share + cluster.weights_share;
  const double own = both * std::max(0.0, cluster.own_link_seconds - cluster.link_seconds);
  for (double& delay : delays) {
    delay += cluster.fixed_seconds + own;
  }
  if (heuristics == Heuristics::kWith) {
    return closed_network_rates(delays, cluster);
  }
  std::vector<double> rates = delays;
  for (double& rate : rates) {
    rate = 1.0 / (rate + both * cluster.link_seconds + cluster.apply_seconds);
  }
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  const double most =
      1.0 / std::max({cluster.up_seconds(), cluster.down_seconds(), cluster.apply_seconds});
  for (double& rate : rates) {
    rate *= std::min(1.0, most / sum);
  }
  return rates;
}

// Squared standard error of the mean of a worker's draws.
double squared_error(const Period& period, std::size_t worker) {
  double squares = 0.0;
  for (const std::vector<double>& draw : period.draws) {
    squares += (draw[worker] - period.mean[worker]) * (draw[worker] - period.mean[worker]);
  }
  const auto count = static_cast<double>(period.draws.size());
  return squares / (count * std::max(1.0, count - 1.0));
}

// Whether one worker's iteration is 5 % longer than most, beyond what chance explains. Sooner or
// later, all others are then as far ahead of it as the bound allows.
bool is_held_up(const Period& period, const ServedCluster& cluster) {
  constexpr double kLonger = 0.05;
  constexpr double kErrors = 3.0;
  std::vector<std::size_t> order(period.mean.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return period.mean[a] < period.mean[b];
  });
  const std::size_t slowest = order.back();
  const std::size_t middle = order[(order.size() - 1) / 2];
  const double longer = period.mean[slowest] - period.mean[middle];
  const double error = std::sqrt(squared_error(period, slowest) + squared_error(period, middle));
  const double besides =
      cluster.fixed_seconds +
      (cluster.gradient_share + cluster.weights_share) * cluster.own_link_seconds +
      cluster.apply_seconds;
  return longer > std::max(kLonger * (period.mean[middle] + besides), kErrors * error);
}

// The slowest worker's gradient releases all blocked workers together. From then on they are on the
// link together, as in a round of all workers.
double round_of_means(const Period& period, const ServedCluster& cluster, Heuristics heuristics) {
  return round_seconds(computed_at(period.mean, cluster, heuristics),
                       static_cast<std::uint32_t>(period.mean.size()),
                       cluster,
                       heuristics);
}

// The policy decides for workers whose mini-batches take their time without a barrier.
double decided_rate(const Barrier& barrier,
                    const ServedCluster& cluster,
                    const Period& period,
                    Heuristics heuristics) {
  constexpr std::size_t kIterationsLeast = 300;
  constexpr double kSecondsLeast = 1e-9;
  const std::vector<double> rates = free_rates(period, cluster, heuristics);
  const auto workers = static_cast<std::uint32_t>(rates.size());
  std::vector<double> besides(workers);
  for (std::uint32_t w = 0; w < workers; ++w) {
    besides[w] = 1.0 / rates[w] - period.mean[w];
    if (barrier.kind == BarrierKind::kDistinct) {  // The k workers get their weights together.
      besides[w] = std::max(besides[w],
                            cluster.fixed_seconds + down_seconds(barrier.cutoff, cluster) +
                                cluster.own_up_seconds() + cluster.apply_seconds);
    }
  }
  const std::size_t iterations = std::max(kIterationsLeast, period.draws.size());
  const double rate = policy_rate(
      {.policy = barrier.policy,
       .workers = workers,
       .seconds =
           [&](std::uint32_t worker, std::uint64_t iteration) {
             const std::size_t draw = iteration % period.draws.size();
             return std::max(kSecondsLeast, period.draws[draw][worker] + besides[worker]);
           },
       .gradients = iterations * workers});
  if (barrier.kind != BarrierKind::kBoundedStaleness || !is_held_up(period, cluster)) {
    return rate;
  }
  const double behind = workers * *std::min_element(rates.begin(), rates.end());
  return std::min({rate,
                   behind,
                   heuristics == Heuristics::kWith
                       ? workers / round_of_means(period, cluster, heuristics)
                       : behind});
}

double period_rate(const Barrier& barrier,
                   const ServedCluster& cluster,
                   const Period& period,
                   Heuristics heuristics) {
  switch (barrier.kind) {
    case BarrierKind::kCutoff:
      return cutoff_rate(period, barrier.cutoff, cluster, heuristics);
    case BarrierKind::kBestCutoff:
      return best_cutoff_of(period, cluster, heuristics).rate;
    case BarrierKind::kRestarting:
      return restarting_rate(period, barrier.cutoff, cluster);
    case BarrierKind::kDistinct:
    case BarrierKind::kBoundedStaleness:
    case BarrierKind::kLateOnes:
      return decided_rate(barrier, cluster, period, heuristics);
    case BarrierKind::kNone:
    case BarrierKind::kChanging:
      break;
  }
  CHECK(is_modelled(barrier));
  const std::vector<double> rates = free_rates(period, cluster, heuristics);
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

double mean_over_periods(const Computing& computing,
                         const std::function<double(const Period&)>& rate) {
  double sum = 0.0;
  for (const Period& period : computing) {
    sum += rate(period);
  }
  return sum / static_cast<double>(computing.size());
}

}  // namespace

std::vector<double> closed_network_rates(const std::vector<double>& delays,
                                         const ServedCluster& cluster) {
  // Relative difference of delays below which the exact solution for equal workers is the better
  // one.
  constexpr double kAlike = 1e-3;
  const Stations stations{
      .service = {cluster.down_seconds(), cluster.up_seconds(), cluster.apply_seconds},
      .in_order = {cluster.in_turn, false, true}};
  const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
  if (*most - *least > kAlike * *most) {
    return rates_of_unequals(delays, stations);
  }
  const double mean =
      std::accumulate(delays.begin(), delays.end(), 0.0) / static_cast<double>(delays.size());
  const double all = rate_of_equals(delays.size(), mean, stations);
  return std::vector<double>(delays.size(), all / static_cast<double>(delays.size()));
}

double served_rate(const Barrier& barrier,
                   const ServedCluster& cluster,
                   const Computing& computing,
                   Heuristics heuristics) {
  CHECK(!computing.empty());
  return mean_over_periods(computing, [&](const Period& period) {
    return period_rate(barrier, cluster, period, heuristics);
  });
}

double best_cutoff(const ServedCluster& cluster,
                   const Computing& computing,
                   Heuristics heuristics) {
  CHECK(!computing.empty());
  return mean_over_periods(computing, [&](const Period& period) {
    return best_cutoff_of(period, cluster, heuristics).cutoff;
  });
}

namespace {

// From the first worker's begin to the end of the last sum, when the slowest worker computes so
// long.
double summed_at(const RingCluster& cluster,
                 double workers,
                 double slowest,
                 Heuristics heuristics) {
  const double messages = 2.0 * (workers - 1.0) * cluster.latency_seconds;
  const double payload = 2.0 * (workers - 1.0) / workers * cluster.payload_seconds;
  if (heuristics == Heuristics::kWithout) {
    return slowest + messages + payload;
  }
  double summed = 0.0;
  for (const BucketShare& bucket : cluster.buckets) {
    summed = std::max(summed, bucket.ready * slowest) + messages + bucket.bytes * payload;
  }
  return summed;
}

}  // namespace

double ring_rate(const RingCluster& cluster, const Computing& computing, Heuristics heuristics) {
  CHECK(!computing.empty());
  return mean_over_periods(computing, [&](const Period& period) {
    const auto workers = static_cast<double>(period.mean.size());
    return workers / mean_over_draws(period, [&](const std::vector<double>& draw) {
             const double slowest = *std::max_element(draw.begin(), draw.end());
             return cluster.fixed_seconds + summed_at(cluster, workers, slowest, heuristics);
           });
  });
}

double meeting_seconds(const RingCluster& cluster, job::Averaging averaging) {
  const double transfers = averaging == job::Averaging::kElastic ? 2.0 : 1.0;
  return 2.0 * cluster.meeting_message_seconds + transfers * cluster.payload_seconds;
}

double busy_share(double neighbours) {
  const double others = (neighbours - 1.0) / neighbours;
  // x of 1 / x = 1 + others (1 - x / 2).
  return others > 0.0 ? (1.0 + others - std::sqrt(1.0 + others * others)) / others : 1.0;
}

namespace {

// Gradients a second that meetings allow, of all workers but one that holds a centre.
double most_by_meetings(const RingCluster& cluster,
                        double workers,
                        const Gossiping& gossip,
                        Heuristics heuristics) {
  const job::Averaging averaging = gossip.options.averaging;
  const double meeting = meeting_seconds(cluster, averaging);
  const double busy = heuristics == Heuristics::kWith ? busy_share(gossip.neighbours) : 1.0;
  const double messages = 2.0 * cluster.meeting_message_seconds;
  switch (averaging) {
    case job::Averaging::kFree:
      break;
    case job::Averaging::kCoupled:  // Workers of odd number answer.
      return gossip.options.average_every * std::floor(workers / 2.0) * busy / meeting;
    case job::Averaging::kPull:
    case job::Averaging::kPush:
      if (heuristics == Heuristics::kWith && workers == 2.0) {  // They take turns.
        return gossip.options.average_every / meeting;
      }
      return gossip.options.average_every * workers / (messages + cluster.payload_seconds / busy);
    case job::Averaging::kElastic:
      return gossip.options.average_every / (meeting - messages);
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace

double gossip_rate(const RingCluster& cluster,
                   const Computing& computing,
                   const Gossiping& gossip,
                   Heuristics heuristics) {
  CHECK(!computing.empty());
  const bool elastic = gossip.options.averaging == job::Averaging::kElastic;
  const double every = gossip.options.average_every;
  return mean_over_periods(computing, [&](const Period& period) {
    const auto workers = static_cast<double>(period.mean.size());
    const bool waits = gossip.options.averaging != job::Averaging::kFree && workers > 1;
    const double meeting = waits ? meeting_seconds(cluster, gossip.options.averaging) : 0.0;
    const auto alone = [&](double seconds) {
      return every / ((every - 1.0) * (cluster.fixed_seconds + seconds) + cluster.fixed_seconds +
                      std::max(meeting, seconds));
    };
    double rate = 0.0;
    for (const double seconds : period.mean) {
      rate += alone(seconds);
    }
    const double most = waits ? most_by_meetings(cluster, workers, gossip, heuristics) : rate;
    if (!elastic) {
      return std::min(rate, most);
    }
    // The first worker has the centre in its memory.
    const double first = period.mean.front();
    return 1.0 / (cluster.fixed_seconds + first) + std::min(rate - alone(first), most);
  });
}

}  // namespace outpace::throughput
