// A ring or a gossip in virtual time: the machines of core/peer, driven by a queue of events.
//
// What the workers decide is the code of live workers (peer/ring.h, peer/gossip.h), and so is what
// the host does with workers that are lost (peer/formation.h). Times are drawn: computing by a
// Timing, messages by a latency. After each event the invariants of invariants/peers.h are checked.
//
// Faults: a worker dies, stands still, or computes slowly; messages are late or lost. A lost
// message shows as TCP shows it: the connection is closed, and the group is broken.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "invariants/peers.h"
#include "peer/formation.h"
#include "peer/outcome.h"
#include "peers/event.h"
#include "peers/member.h"
#include "peers/options.h"
#include "peers/wires.h"
#include "sim/event_queue.h"
#include "sim/timing.h"

namespace outpace::peers {

// Large class: workers, links and the host share one queue of events and its clock.
class Cluster {
 public:
  // `timing` outlives this object. REQUIRES: check_faults() passes; a gossip has two workers.
  Cluster(const Options& options,
          sim::Timing& timing,
          Told told = nullptr,
          Decided decided = nullptr);

  // Until the run is over. Throws invariants::Violation.
  [[nodiscard]] peer::Outcome run();

 private:
  using Kind = Event::Kind;

  // ---- The loop, and faults: cluster.cc ----
  void handle(const Event& event);
  void handle_of_worker(const Event& event);
  void befall(const sim::Fault& fault);
  void die(std::uint32_t worker);
  // Nobody waits in vain, and something is to come.
  void look();
  [[nodiscard]] std::vector<std::uint32_t> waits_for(std::uint32_t worker) const;
  // Sends; `takes` is in addition to the latency.
  void send(const Event& event, Duration takes = {});
  void to_host(Event event);
  void tell_all(Event event);
  void tell(std::uint32_t worker, const std::string& what) const;
  void finish();
  // Nothing: the host's.
  [[nodiscard]] peer::Journal journal_of(std::optional<WorkerId> worker);

  // ---- The host, and groups: cluster_groups.cc ----
  void stands(const Event& event);
  void report(const Event& event);
  void goodbye(std::uint32_t worker);
  void lose(std::uint32_t worker, const std::string& why);
  void order(const std::optional<peer::Formation::Order>& order);
  void end(ExitCode code, const std::string& why);
  void end_when_all_are_quiet();
  [[nodiscard]] const char* limit_reached() const;
  // A worker's side.
  void find_group(std::uint32_t worker);
  void connect(std::uint32_t worker, const protocol::Group& group);
  void joined(std::uint32_t worker);
  // It closes its connections to the others.
  void leave_group(std::uint32_t worker);
  void closed(const Event& event);
  void stop(std::uint32_t worker);
  [[nodiscard]] const protocol::Group& group_of(const Member& member) const {
    return groups_.at(member.group);
  }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t worker) const;
  [[nodiscard]] std::uint32_t worker_of(const Member& member, std::uint32_t rank) const;

  // ---- Their gradients: cluster_ring.cc and cluster_gossip.cc ----
  void compute(std::uint32_t worker, double share);
  void carry_out(std::uint32_t worker, const peer::Ring::Actions& actions);
  void ring_computed(std::uint32_t worker);
  struct SumSteps {
    Duration one;
    int count;
  };
  [[nodiscard]] SumSteps sum_of(int workers) const;
  void ring_broken(std::uint32_t worker);
  void summed(const Event& event);
  void handed_on(const Event& event);
  // The next gradient of a gossip.
  void begin_gradient(std::uint32_t worker);
  void gossip_computed(std::uint32_t worker);
  void gossip_broken(std::uint32_t worker);
  void knock(const Event& event);
  void came(const Event& event);
  void carry_out(std::uint32_t worker, const peer::Actions& actions);
  void await(std::uint32_t worker, const peer::Await& awaited);
  void apply(std::uint32_t worker);
  void say(std::uint32_t worker, const peer::Send& send);
  [[nodiscard]] peer::Draw draw_of(std::uint32_t worker);
  // A gradient that waited may go, and a worker that is to stop may be done.
  void go_on(std::uint32_t worker);

  // Constant after construction.
  const Options options_;
  sim::Timing& timing_;
  const Told told_;
  const Decided decided_;
  const Duration too_long_;  // From a death until nobody may wait for the dead.
  // State.
  sim::EventQueue<Event> queue_;
  Time now_{};
  Rng rng_;
  Wires wires_;
  std::vector<Member> members_;
  std::map<std::uint32_t, protocol::Group> groups_;        // By generation: the newest few.
  std::map<std::uint32_t, std::set<std::uint32_t>> came_;  // By generation: who is there.
  struct OpenSum {
    std::set<std::uint32_t> terms;
    bool votes = false;
    bool complete = false;
  };
  std::map<invariants::SumId, OpenSum> sums_;
  // The host.
  peer::Formation formation_;
  std::set<std::uint32_t> connected_;  // To the host.
  std::set<std::uint32_t> quiet_;      // Said goodbye, and were told of no group since.
  bool stopping_ = false;
  bool over_ = false;
  std::uint64_t events_at_look_ = 0;
  invariants::Sums checked_sums_;
  invariants::Meetings checked_meetings_;
  peer::Outcome result_;
};

}  // namespace outpace::peers
