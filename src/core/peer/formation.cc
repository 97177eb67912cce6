#include "peer/formation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace outpace::peer {

Formation::Order Formation::begin(std::set<WorkerId> workers) {
  CHECK(!workers.empty() && generation_ == 0);
  workers_ = std::move(workers);
  return ask();
}

std::optional<Formation::Order> Formation::lost(WorkerId worker) {
  if (workers_.erase(worker) == 0 || workers_.empty()) {
    return std::nullopt;
  }
  breaks_ = 0;
  // Also if all others have answered: a group that knew the lost worker may already be forming.
  return ask();
}

std::optional<Formation::Order> Formation::stands(WorkerId worker,
                                                  const protocol::Standing& standing) {
  if (!workers_.contains(worker) || standing.generation != generation_ || generation_ == 0) {
    return std::nullopt;
  }
  if (formed_) {  // Its group is broken.
    breaks_ = standing.version > version_ ? 0 : breaks_ + 1;
    return breaks_ > kBreaksMost ? Order{GiveUp{}} : ask();
  }
  standing_[worker] = standing.version;
  return form_when_all_stand();
}

Formation::Order Formation::ask() {
  ++generation_;
  formed_ = false;
  standing_.clear();
  return protocol::Regroup{generation_};
}

std::optional<Formation::Order> Formation::form_when_all_stand() {
  if (standing_.size() < workers_.size()) {
    return std::nullopt;
  }
  const auto newest = std::ranges::max_element(
      standing_, {}, [](const auto& worker) { return worker.second; });  // The first of them.
  protocol::Group group{.generation = generation_,
                        .version = newest->second,
                        .members = {workers_.begin(), workers_.end()},
                        .ahead = newest->first,
                        .behind = {}};
  for (const auto& [worker, version] : standing_) {
    if (version != group.version) {
      group.behind.push_back(worker);
    }
  }
  formed_ = true;
  version_ = group.version;
  return group;
}

}  // namespace outpace::peer
