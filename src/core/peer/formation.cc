#include "peer/formation.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"

namespace outpace::peer {

Formation::Order Formation::begin(std::set<WorkerId> workers) {
  CHECK(!workers.empty() && generation_ == 0);
  workers_ = std::move(workers);
  Order order = ask();
  if (journal_) {
    journal_("begin:workers=" + in_words(workers_), to_words(order));
  }
  return order;
}

std::optional<Formation::Order> Formation::lost(WorkerId worker) {
  std::optional<Order> order = without(worker);
  if (journal_) {
    journal_("lost:worker=" + std::to_string(index(worker)), to_words(order));
  }
  return order;
}

Formation::Order Formation::came(WorkerId worker) {
  CHECK(generation_ > 0);
  CHECK(workers_.insert(worker).second);
  breaks_ = 0;
  Order order = ask();
  if (journal_) {
    journal_("came:worker=" + std::to_string(index(worker)), to_words(order));
  }
  return order;
}

std::optional<Formation::Order> Formation::stands(WorkerId worker,
                                                  const protocol::Standing& standing) {
  std::optional<Order> order = hear(worker, standing);
  if (journal_) {
    journal_("stands:worker=" + std::to_string(index(worker)) +
                 ",generation=" + std::to_string(standing.generation) + ",version=" +
                 std::to_string(count(standing.version)) + (standing.newcomer ? ",newcomer=1" : ""),
             to_words(order));
  }
  return order;
}

std::optional<Formation::Order> Formation::without(WorkerId worker) {
  if (workers_.erase(worker) == 0 || workers_.empty()) {
    return std::nullopt;
  }
  breaks_ = 0;
  // Also if all others have answered: a group that knew the lost worker may already be forming.
  return ask();
}

std::optional<Formation::Order> Formation::hear(WorkerId worker,
                                                const protocol::Standing& standing) {
  if (!workers_.contains(worker) || standing.generation != generation_ || generation_ == 0) {
    return std::nullopt;
  }
  if (formed_) {  // Its group is broken.
    breaks_ = standing.version > version_ ? 0 : breaks_ + 1;
    return breaks_ > kBreaksMost ? Order{GiveUp{}} : ask();
  }
  standing_[worker] = {.version = standing.version, .newcomer = standing.newcomer};
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
  const bool all_new =
      std::ranges::all_of(standing_, [](const auto& one) { return one.second.newcomer; });
  if (all_new && has_formed_) {
    return GiveUp{.nobody_has_weights = true};
  }
  // Before the first group, what all begin with does.
  const auto has_some = [all_new](const Stand& one) { return all_new || !one.newcomer; };
  const auto newest = std::ranges::max_element(standing_, {}, [&](const auto& one) {
    return std::pair(has_some(one.second), one.second.version);
  });  // The first of them.
  protocol::Group group{.generation = generation_,
                        .version = newest->second.version,
                        .members = {workers_.begin(), workers_.end()},
                        .ahead = newest->first,
                        .behind = {}};
  for (const auto& [worker, one] : standing_) {
    if (!has_some(one)) {
      group.newcomers.push_back(worker);
    } else if (one.version != group.version) {
      group.behind.push_back(worker);
    }
  }
  formed_ = true;
  has_formed_ = true;
  version_ = group.version;
  return group;
}

std::string to_words(const std::optional<Formation::Order>& order) {
  if (!order) {
    return "nothing";
  }
  return std::visit(
      Overloaded{
          [](const protocol::Regroup& regroup) {
            return "all leave their group, and say where they stand: generation " +
                   std::to_string(regroup.generation);
          },
          [](const protocol::Group& group) {
            return "group " + std::to_string(group.generation) + " of " +
                   in_words(group.members, ",") + " at version " +
                   std::to_string(count(group.version)) +
                   (group.behind.empty() ? ""
                                         : "; " + std::to_string(index(group.ahead)) +
                                               " hands it to " + in_words(group.behind, ",")) +
                   (group.newcomers.empty()
                        ? ""
                        : "; " + std::to_string(index(group.ahead)) + " hands everything to " +
                              in_words(group.newcomers, ","));
          },
          [](const Formation::GiveUp& why) {
            return std::string(why.nobody_has_weights ? "gives up: all are newcomers" : "gives up");
          }},
      *order);
}

}  // namespace outpace::peer
