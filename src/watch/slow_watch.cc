#include "watch/slow_watch.h"

#include <algorithm>
#include <cmath>

namespace outpace::watch {
namespace {

constexpr std::size_t kEnough = 5;  // Workers that tell a change of the cluster from one's own.
// The common change is taken so often while each worker ends a mini-batch, and judged once: the
// test takes each of its values for a new one.
constexpr std::size_t kParts = 4;
constexpr double kWorthTelling = 1.5;  // Processors that workers share are slower for moments.

}  // namespace

double SlowWatch::common_change() {
  changes_.clear();
  for (const Worker& worker : workers_) {
    if (worker.test.ready()) {
      changes_.push_back(worker.change);
    }
  }
  if (changes_.size() < kEnough) {
    return 0.0;
  }
  const auto middle = changes_.begin() + static_cast<std::ptrdiff_t>(changes_.size() / 2);
  std::nth_element(changes_.begin(), middle, changes_.end());
  return *middle;
}

std::optional<SlowChange> SlowWatch::see(WorkerId worker, double seconds, bool longer) {
  if (workers_.size() <= index(worker)) {
    workers_.resize(index(worker) + 1);
  }
  Worker& one = workers_[index(worker)];
  const double log_seconds = std::log(seconds);
  const double before = one.test.factor();
  const Change change = one.test.see({.log_seconds = log_seconds - common_, .longer = longer});
  if (!longer) {
    one.change = log_seconds - one.test.baseline();
  }
  if (change != Change::kNone) {
    return SlowChange{.worker = worker,
                      .change = change,
                      .factor = change == Change::kSlow ? one.test.factor() : before,
                      .at_least = longer};
  }
  if (++since_ < std::max<std::size_t>(1, workers_.size() / kParts)) {
    return std::nullopt;
  }
  since_ = 0;
  common_ = common_change();
  return see_cluster();
}

std::optional<SlowChange> SlowWatch::see_cluster() {
  if (++parts_ < kParts) {
    return std::nullopt;
  }
  parts_ = 0;
  const double cluster_before = cluster_.factor();
  const Change all = cluster_.see({.log_seconds = common_});
  if (all == Change::kSlow) {
    told_ = cluster_.factor() >= kWorthTelling;
  }
  if (all == Change::kNone || !told_) {
    return std::nullopt;
  }
  return SlowChange{.worker = std::nullopt,
                    .change = all,
                    .factor = all == Change::kSlow ? cluster_.factor() : cluster_before};
}

void SlowWatch::forget(WorkerId worker) {
  if (index(worker) < workers_.size()) {
    workers_[index(worker)] = {};
  }
}

double SlowWatch::factor(WorkerId worker) const {
  return index(worker) < workers_.size() ? workers_[index(worker)].test.factor() : 1.0;
}

}  // namespace outpace::watch
