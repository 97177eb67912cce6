#include "watch/slow_watch.h"

#include <algorithm>
#include <cmath>

namespace outpace::watch {
namespace {

constexpr std::size_t kEnough = 5;  // Workers that tell a change of the cluster from one's own.
// The common change is taken so often while each worker ends a mini-batch, and judged once: the
// test takes each of its values for a new one.
constexpr std::size_t kParts = 4;
constexpr std::size_t kOthers = 16;  // Workers of one host that are looked at, at most.

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

double SlowWatch::host_change(std::size_t worker) {
  const auto host = hosts_.find(workers_[worker].host);
  if (host == hosts_.end()) {
    return 0.0;
  }
  changes_.clear();
  const std::vector<std::size_t>& all = host->second;
  const auto own = static_cast<std::size_t>(std::ranges::find(all, worker) - all.begin());
  for (std::size_t i = 1; i < all.size() && i <= kOthers; ++i) {
    const Worker& other = workers_[all[(own + i) % all.size()]];
    if (other.test.ready()) {
      changes_.push_back(other.change);
    }
  }
  if (changes_.empty()) {
    return 0.0;
  }
  const auto middle = changes_.begin() + static_cast<std::ptrdiff_t>((changes_.size() - 1) / 2);
  std::nth_element(changes_.begin(), middle, changes_.end());
  return std::max(0.0, *middle);
}

void SlowWatch::is_at(WorkerId worker, const std::string& host) {
  if (workers_.size() <= index(worker)) {
    workers_.resize(index(worker) + 1);
  }
  std::string& present = workers_[index(worker)].host;
  if (present == host) {
    return;
  }
  if (!present.empty()) {
    std::erase(hosts_[present], index(worker));
  }
  present = host;
  if (!host.empty()) {
    hosts_[host].push_back(index(worker));
  }
}

std::optional<SlowChange> SlowWatch::see(WorkerId worker, double seconds, bool longer) {
  if (workers_.size() <= index(worker)) {
    workers_.resize(index(worker) + 1);
  }
  Worker& one = workers_[index(worker)];
  if (one.ended < kWarmUp) {
    ++one.ended;
    return std::nullopt;
  }
  const double log_seconds = std::log(seconds);
  const double before = one.test.factor();
  const double shared = std::max(common_, host_change(index(worker)));
  const Change change = one.test.see({.log_seconds = log_seconds - shared, .longer = longer});
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
    workers_[index(worker)] = {.host = workers_[index(worker)].host};
  }
}

double SlowWatch::factor(WorkerId worker) const {
  const double found =
      index(worker) < workers_.size() ? workers_[index(worker)].test.factor() : 1.0;
  return found >= kWorthTelling ? found : 1.0;
}

}  // namespace outpace::watch
