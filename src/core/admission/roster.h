// The peers that are connected, and which of them is the live incarnation of each worker.
//
// At most one connection holds the rank of a worker. Each connection that is given the rank is a
// newer incarnation of the worker, and a peer that is sent away holds no rank any more.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/connection_id.h"
#include "base/ids.h"
#include "base/time.h"

namespace outpace::admission {

// A peer that was sent away is not heard any more, although its connection may still be open.
enum class Role : std::uint8_t { kWorker, kEvaluator, kSentAway };

struct Peer {
  Role role = Role::kWorker;
  WorkerId worker{};
  std::uint32_t incarnation = 0;
  std::uint64_t process = 0;  // As in protocol::Hello, and so the next three.
  std::string host;
  std::uint64_t seen_job = 0;
  std::uint32_t ahead = 0;
  std::uint32_t stands_for = 1;
  Time last_heard{};    // Only a worker is asked.
  bool joined = false;  // It takes part: it has joined the coordinator.
};

class Roster {
 public:
  // `incarnations`: those that were given before.
  explicit Roster(const std::map<WorkerId, std::uint32_t>& incarnations);

  // Null if the peer has no role yet.
  [[nodiscard]] const Peer* find(ConnectionId connection) const;
  // The connection of the worker's live incarnation.
  [[nodiscard]] std::optional<ConnectionId> holder(WorkerId worker) const {
    return index(worker) < seats_.size() ? seats_[index(worker)].holder : std::nullopt;
  }
  // The same, if it has joined.
  [[nodiscard]] std::optional<ConnectionId> member(WorkerId worker) const {
    return index(worker) < seats_.size() && seats_[index(worker)].joined
               ? seats_[index(worker)].holder
               : std::nullopt;
  }
  [[nodiscard]] std::size_t workers() const { return workers_; }
  [[nodiscard]] std::size_t evaluators() const { return evaluators_; }
  // Workers that have not joined, in order.
  [[nodiscard]] const std::set<ConnectionId>& waiting() const { return waiting_; }
  [[nodiscard]] std::vector<ConnectionId> all(Role role) const;

  // The peer as it is now: its incarnation is counted here. REQUIRES: nobody holds its rank.
  const Peer& add_worker(ConnectionId connection, Peer worker);
  void add_evaluator(ConnectionId connection);
  void heard(Time now, ConnectionId connection);
  // REQUIRES: it waits.
  void joined(ConnectionId connection);
  // All that have joined wait again.
  void unjoin_all();
  // Also a peer without a role.
  void send_away(ConnectionId connection);
  // The peer as it was; nothing if it had no role.
  std::optional<Peer> remove(ConnectionId connection);

 private:
  struct Seat {
    std::optional<ConnectionId> holder;
    bool joined = false;
    std::uint32_t incarnation = 0;  // The newest that was given.
  };
  [[nodiscard]] Seat& seat(WorkerId worker);
  // The peer has its role no more.
  void give_up_role(ConnectionId connection, const Peer& peer);

  std::map<ConnectionId, Peer> peers_;
  std::vector<Seat> seats_;  // By worker.
  std::set<ConnectionId> waiting_;
  std::size_t workers_ = 0;
  std::size_t evaluators_ = 0;
};

}  // namespace outpace::admission
