// Holds a simulated run to the invariants, event by event, and judges whether it recovered.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "invariants/admission_rules.h"
#include "invariants/audit.h"
#include "invariants/coordinator_rules.h"
#include "invariants/decisions.h"
#include "invariants/state.h"
#include "sim/cluster.h"
#include "sim/cluster_observer.h"
#include "swarm/random_job.h"

namespace outpace::swarm {

class InvariantChecker final : public sim::ClusterObserver {
 public:
  // `keeps_events`: in words, the last of them; slow.
  InvariantChecker(const Plan& plan, bool keeps_events);

  // The coordinator's observer. Throws Violation, as all below.
  void decided(Time now, const policy::Event& event, const policy::Decision& decision);
  void answered(Time now, const server::Input& input, const server::Effects& effects) override;
  [[nodiscard]] bool after(Time now,
                           const server::Coordinator& coordinator,
                           const server::Shard* shard) override;
  void greeted(Time now, const admission::Input& input) override;
  void admitted(Time now, const admission::Effect& effect) override;
  void restarted(Time now) override;
  void ended(const sim::ClusterResult& result);

  [[nodiscard]] const std::deque<std::string>& last_events() const { return last_events_; }

 private:
  // What is known of the run, and goes back with it to a checkpoint.
  struct Known {
    invariants::Decisions decisions;
    invariants::Coordination coordination;
    invariants::State state;
    std::optional<invariants::Audit> audit;
  };
  [[nodiscard]] Known nothing() const;

  void keep(Time now, const std::string& text);
  // Whether all that should be live have come to a version of after the heal.
  [[nodiscard]] bool recovered() const;
  [[nodiscard]] std::string who_did_not() const;
  [[nodiscard]] bool is_well(std::uint32_t worker) const;

  // Constant after construction.
  const Plan& plan_;
  const bool keeps_events_;
  // State.
  invariants::AdmissionRules admission_;
  std::optional<Known> known_;  // Always; its parts cannot be assigned to.
  std::optional<Known> kept_;   // At the newest checkpoint.
  std::uint64_t decided_ = 0;   // Since the last answer.
  std::uint64_t events_ = 0;
  std::optional<std::uint64_t> healed_version_;
  std::deque<std::string> last_events_;
};

}  // namespace outpace::swarm
