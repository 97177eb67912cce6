// Which workers of a run without a server are in, at which version, and in which group.
//
// Pure. A group loses a worker, or breaks. Then each worker that is left is told to leave it and to
// say where it stands. When all have answered, they form the next group, at the newest version that
// one of them has: in a ring some may have applied an update that others had not, and these get it
// from one that has it (ring.h). Each group has a generation of its own, so an answer to an earlier
// question counts for nothing.
//
// A worker that comes while the run goes on, for the first time or after it was lost, is a
// newcomer: it has nothing. All regroup, and the one that is ahead hands it everything. It stays a
// newcomer until it says that it is none.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "peer/journal.h"
#include "protocol/messages.h"

namespace outpace::peer {

class Formation {
 public:
  // Groups in a row that may break although nobody is lost and no update is made.
  static constexpr std::uint32_t kBreaksMost = 10;

  // The workers cannot form a group: it broke too often, or only newcomers are left.
  struct GiveUp {
    bool nobody_has_weights = false;
  };
  // Regroup and Group are for all workers that are in.
  using Order = std::variant<protocol::Regroup, protocol::Group, GiveUp>;

  explicit Formation(Journal journal = {}) : journal_(std::move(journal)) {}

  // Asks all for the first group. REQUIRES: at least one worker; called once, before what follows.
  [[nodiscard]] Order begin(std::set<WorkerId> workers);
  // The worker died, or is silent. No order if nobody is left, or if it was not in.
  [[nodiscard]] std::optional<Order> lost(WorkerId worker);
  // The worker comes while the run goes on. REQUIRES: it is not in.
  [[nodiscard]] Order came(WorkerId worker);
  // The worker says where it stands.
  [[nodiscard]] std::optional<Order> stands(WorkerId worker, const protocol::Standing& standing);

  [[nodiscard]] const std::set<WorkerId>& workers() const { return workers_; }
  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  // Whether the group of this generation was ordered.
  [[nodiscard]] bool formed() const { return formed_; }

 private:
  [[nodiscard]] std::optional<Order> without(WorkerId worker);
  [[nodiscard]] std::optional<Order> hear(WorkerId worker, const protocol::Standing& standing);
  Order ask();
  [[nodiscard]] std::optional<Order> form_when_all_stand();

  // Constant after construction.
  Journal journal_;
  // State.
  std::set<WorkerId> workers_;
  std::uint32_t generation_ = 0;
  bool formed_ = false;
  struct Stand {
    Version version;
    bool newcomer;
  };
  std::map<WorkerId, Stand> standing_;  // By worker that has answered.
  bool has_formed_ = false;             // There has been a group.
  Version version_{};                   // The newest group's.
  std::uint32_t breaks_ = 0;            // In a row, with nobody lost and no update.
};

// "all leave their group, and say where they stand: generation 3"; nothing: no order.
[[nodiscard]] std::string to_words(const std::optional<Formation::Order>& order);

}  // namespace outpace::peer
