// What must hold of the coordinator's effects, input by input.
//
//   I1   a gradient is accepted once, under its first verdict, or not at all; an example of an
//        epoch is with one worker, or used, never both and never twice
//   I5   while the run goes on, somebody computes
//   I6   only live workers are sent anything, and a stalled one no release; a worker that is silent
//        for the heartbeat timeout is not live, and one that is at a release for the progress
//        timeout is stalled
//   I7   what an old incarnation says changes nothing
//   I10  versions count the steps of the weights, for every worker that is sent them
//   I12  nothing is used of a gradient that is not finite, or is filtered
//   I17  rates and weights are finite and not below 0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "invariants/positions.h"
#include "protocol/messages.h"
#include "server/effects.h"
#include "server/input.h"

namespace outpace::invariants {

class Coordination {
 public:
  // `silence`: a worker that says nothing for this long is dead. `progress`: one that is at a
  // release for this long is stalled. What is missing is not checked.
  Coordination(std::uint32_t workers,
               std::optional<Duration> silence,
               std::optional<Duration> progress = std::nullopt)
      : silence_(silence), progress_(progress), members_(workers) {}

  // The coordinator answered `input` with `effects`, after this many decisions of its policy.
  // Throws Violation.
  void check(Time now,
             const server::Input& input,
             std::uint64_t decisions,
             const server::Effects& effects);
  // Between two events. `live` and `started` are the coordinator's. Throws Violation.
  void at_rest(Time now, std::uint32_t live, bool started) const;

  // Another server has gone on from here, or from a copy of this: nobody has joined it yet, and
  // what was accepted since the last step is forgotten.
  void restarted();

  struct Member {
    bool live = false;
    std::uint32_t incarnation = 0;
    Time heard{};
    std::optional<protocol::Release> open;
    Time released{};
    std::optional<Sequence> stalled_at;              // It is stalled, at this release.
    std::uint64_t version = 0;                       // The last release's version.
    std::map<Sequence, protocol::Outcome> verdicts;  // The first of each of its last gradients.
  };
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::uint32_t live() const { return live_; }

  // Positions in the weights since the last call, each with the weight of its gradient.
  struct Used {
    protocol::Ranges ranges;
    double weight;
  };
  [[nodiscard]] std::vector<Used> used() { return std::exchange(used_, {}); }

 private:
  // What an input claims: which worker it comes from, and whether it answers the open release.
  struct Claim {
    std::optional<WorkerId> worker;
    bool answers = false;
    bool returns = false;  // It answers the release at which its worker is stalled.
    bool current = true;   // It comes from the incarnation that takes part.
    std::optional<Sequence> sequence;
    std::uint32_t examples = 0;
    bool finite = true;
    bool filtered = false;
    bool accepted = false;
    bool judged = false;
  };

  [[nodiscard]] Claim take_in(const server::Input& input);
  [[nodiscard]] Claim claim_of(const protocol::GradientId& id) const;
  void check_effect(Time now, const server::Effect& effect, Claim& claim);
  void accepted(const server::Accept& gradient, Claim& claim);
  void stepped(const server::StepWeights& step);
  void left(const server::LeaveOut& left_out);
  void sent(Time now, const server::Send& send, Claim& claim);
  void released(Time now, WorkerId worker, const protocol::Release& release);
  void stalled(WorkerId worker);
  // The claim's worker takes part again.
  void take_back(const Claim& claim);
  void judged(WorkerId worker, const protocol::Verdict& verdict, Claim& claim);
  void out_of_date(const Claim& claim,
                   std::uint64_t decisions,
                   const server::Effects& effects) const;
  void close(Member& member, std::uint64_t keeps);
  void dead(Member& member);

  // Constant after construction.
  const std::optional<Duration> silence_;
  const std::optional<Duration> progress_;
  // State.
  std::vector<Member> members_;
  Positions positions_;
  std::vector<Used> accepted_;  // Since the last step.
  std::vector<Used> used_;
  std::uint64_t version_ = 0;
  std::uint64_t newest_ = 0;  // Sequence given out.
  std::uint32_t live_ = 0;
  std::uint32_t open_ = 0;
  bool finished_ = false;
};

}  // namespace outpace::invariants
