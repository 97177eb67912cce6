#include "throughput/own_time.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "base/check.h"

namespace outpace::throughput {
namespace {

// Indices in the order of what `key` gives for them.
template <typename Key>
std::vector<std::size_t> in_order(std::size_t count, Key key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

// An iteration's place in the run.
struct Place {
  std::size_t worker;
  std::size_t number;
};

std::vector<Place> places_of(const policy::RecordedRun& run) {
  std::vector<Place> places;
  for (std::size_t worker = 0; worker < run.workers.size(); ++worker) {
    places.reserve(places.size() + run.workers[worker].iterations.size());
    for (std::size_t i = 0; i < run.workers[worker].iterations.size(); ++i) {
      places.push_back({worker, i});
    }
  }
  return places;
}

const policy::RecordedIteration& at(const policy::RecordedRun& run, const Place& place) {
  return run.workers[place.worker].iterations[place.number];
}

}  // namespace

std::vector<Time> begins_of(const std::vector<Computation>& computations, std::uint32_t cores) {
  CHECK(cores >= 1);
  // Backwards: a computation comes at its end, and is over at its begin. `served` is what each of
  // those under way has got since the first came, in seconds of a processor.
  std::vector<Time> begins(computations.size());
  const auto by_end = in_order(computations.size(),
                               [&](std::size_t i) { return -to_seconds(computations[i].end); });
  std::priority_queue<std::pair<double, std::size_t>,
                      std::vector<std::pair<double, std::size_t>>,
                      std::greater<>>
      under_way;  // What `served` will be when it is over.
  double served = 0.0;
  double now = 0.0;
  const auto go_back_to = [&](double time) {
    while (!under_way.empty()) {
      const double speed =
          std::min(1.0, static_cast<double>(cores) / static_cast<double>(under_way.size()));
      const double until = now - (under_way.top().first - served) / speed;
      if (until < time) {
        served += (now - time) * speed;
        break;
      }
      served = under_way.top().first;
      now = until;
      begins[under_way.top().second] = Time{from_seconds(until)};
      under_way.pop();
    }
    now = time;
  };
  for (const std::size_t i : by_end) {
    go_back_to(to_seconds(computations[i].end));
    under_way.emplace(served + computations[i].seconds, i);
  }
  if (!computations.empty()) {
    double all = 0.0;
    for (const Computation& one : computations) {
      all += one.seconds;
    }
    go_back_to(now - all - 1.0);
  }
  return begins;
}

namespace {

// As own_times(), but of what was computed: not of a full mini-batch.
std::vector<std::vector<double>> shared_out(const policy::RecordedRun& run) {
  std::vector<std::vector<double>> own(run.workers.size());
  for (std::size_t worker = 0; worker < run.workers.size(); ++worker) {
    own[worker].reserve(run.workers[worker].iterations.size());
    for (const policy::RecordedIteration& one : run.workers[worker].iterations) {
      own[worker].push_back(to_seconds(one.end - one.begin));
    }
  }
  if (run.cores == 0) {
    return own;
  }
  const std::vector<Place> places = places_of(run);
  std::vector<Computation> computations;
  std::vector<std::size_t> computing;  // The places that they are of.
  computations.reserve(places.size());
  computing.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& seconds = run.workers[places[i].worker].processor_seconds;
    if (seconds) {
      const policy::RecordedIteration& one = at(run, places[i]);
      computations.push_back(
          {.end = one.end,
           .seconds = *seconds * one.share + (1.0 - kHandOutShare) * run.server_seconds});
      computing.push_back(i);
    }
  }
  std::vector<double> until(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    until[i] = to_seconds(at(run, places[i]).end);
  }
  const std::vector<Time> begins = begins_of(computations, run.cores);
  for (std::size_t i = 0; i < computing.size(); ++i) {
    until[computing[i]] = to_seconds(begins[i]);
  }
  double server_free = 0.0;
  for (const std::size_t i :
       in_order(places.size(), [&](std::size_t j) { return at(run, places[j]).begin; })) {
    const policy::RecordedIteration& one = at(run, places[i]);
    server_free = std::max(server_free, to_seconds(one.begin)) + kHandOutShare * run.server_seconds;
    own[places[i].worker][places[i].number] = std::max(0.0, until[i] - server_free);
  }
  return own;
}

void take_in_proportion(const policy::RecordedWorker& worker,
                        double messages,
                        std::vector<double>& taken) {
  for (std::size_t i = 0; i < taken.size(); ++i) {
    taken[i] = std::max(0.0, taken[i] - messages) / worker.iterations[i].share;
  }
}

// `taken`: seconds, of what was computed. Without a whole one there is nothing better than to take
// them in proportion.
void complete_the_cut_off(const policy::RecordedWorker& worker, std::vector<double>& taken) {
  const std::vector<policy::RecordedIteration>& all = worker.iterations;
  const auto whole =
      std::find_if(all.begin(), all.end(), [](const auto& one) { return !one.partial; });
  double near = whole == all.end()
                    ? 0.0
                    : taken[static_cast<std::size_t>(whole - all.begin())] / whole->share;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].partial || whole == all.end()) {
      near = taken[i] /= all[i].share;
    } else {
      taken[i] = std::max(taken[i], near);
    }
  }
}

}  // namespace

double message_seconds(const policy::RecordedRun& run) {
  if (run.given.local_steps == 0) {
    return 0.0;
  }
  std::optional<double> least;
  for (const policy::RecordedWorker& worker : run.workers) {
    if (!worker.iterations.empty()) {
      const double seconds = worker.communication_seconds.value_or(0.0);
      least = std::min(least.value_or(seconds), seconds);
    }
  }
  return least.value_or(0.0);
}

std::vector<std::vector<double>> own_times(const policy::RecordedRun& run) {
  const double messages = message_seconds(run);
  std::vector<std::vector<double>> own = shared_out(run);
  for (std::size_t worker = 0; worker < own.size(); ++worker) {
    if (run.given.local_steps > 0) {
      take_in_proportion(run.workers[worker], messages, own[worker]);
    } else {
      complete_the_cut_off(run.workers[worker], own[worker]);
    }
  }
  return own;
}

}  // namespace outpace::throughput
