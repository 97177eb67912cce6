// For tests: how the members of a group find each other in one process.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/gloo_group.h"
#include "wire/peer_links.h"

namespace outpace::collective {

// The options of each member, by rank.
class GroupForTest {
 public:
  explicit GroupForTest(std::uint32_t size, bool sealed = false) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      links_.push_back(
          std::make_shared<wire::PeerLinks>(wire::PeerLinks::Options{.sealed = sealed}));
    }
    meet(1);
  }

  // From now on all are in the group of this generation.
  void meet(std::uint32_t generation) {
    generation_ = generation;
    const std::string key = wire::draw_group_key();
    for (const auto& links : links_) {
      links->expect(generation, key);
    }
  }
  // `members`: who they are in this group, in the order of their ranks; empty: all.
  [[nodiscard]] GroupOptions member(std::uint32_t rank,
                                    const std::vector<std::uint32_t>& members = {}) const {
    GroupOptions options{.rank = rank,
                         .size = static_cast<std::uint32_t>(links_.size()),
                         .generation = generation_,
                         .links = links_.at(members.empty() ? rank : members.at(rank))};
    if (members.empty()) {
      for (const auto& links : links_) {
        options.places.push_back(links->place());
      }
    } else {
      options.size = static_cast<std::uint32_t>(members.size());
      for (const std::uint32_t member : members) {
        options.places.push_back(links_.at(member)->place());
      }
    }
    return options;
  }
  [[nodiscard]] wire::PeerLinks& links(std::uint32_t rank) const { return *links_.at(rank); }

 private:
  std::vector<std::shared_ptr<wire::PeerLinks>> links_;
  std::uint32_t generation_ = 1;
};

}  // namespace outpace::collective
