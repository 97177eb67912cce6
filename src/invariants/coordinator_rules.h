// What must hold of the coordinator's answers: the effects that it asks for when it was told
// something.
//
//   I1   a gradient is taken up once, under its first verdict, or not at all; an example of an
//        epoch is with one worker, or used, never both and never twice
//   I5   while the run goes on, somebody computes
//   I6   only live workers are sent anything; who is silent for the heartbeat timeout is not live
//   I7   what an old incarnation says changes nothing
//   I10  versions count the steps of the weights, for every worker that is sent them
//   I12  of a gradient that is not finite, or is filtered, nothing is used
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
#include "server/told.h"

namespace outpace::invariants {

class Coordination {
 public:
  // `silence`: after so long without a word a worker is dead; nothing: nobody is held to it.
  Coordination(std::uint32_t workers, std::optional<Duration> silence)
      : silence_(silence), members_(workers) {}

  // Told this, the coordinator had so many decisions made, and asks for these effects. Throws
  // Violation.
  void check(Time now,
             const server::Told& told,
             std::uint64_t decisions,
             const server::Effects& effects);
  // Between two events. Throws Violation. `live`: as the coordinator counts; `started`: the run
  // has.
  void at_rest(Time now, std::uint32_t live, bool started) const;

  struct Member {
    bool live = false;
    std::uint32_t incarnation = 0;
    Time heard{};
    std::optional<protocol::Release> open;
    std::uint64_t version = 0;                       // Of the last release.
    std::map<Sequence, protocol::Outcome> verdicts;  // The first of each of its last gradients.
  };
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::uint32_t live() const { return live_; }

  // Positions in the weights since the last call, each with the weight that it was taken up with.
  struct Used {
    protocol::Ranges ranges;
    double weight;
  };
  [[nodiscard]] std::vector<Used> used() { return std::exchange(used_, {}); }

 private:
  // Of what was told: who says it, and whether it is the open release's answer.
  struct Hand {
    std::optional<WorkerId> worker;
    bool answers = false;
    bool current = true;  // Of the incarnation that takes part.
    std::optional<Sequence> sequence;
    std::uint32_t examples = 0;
    bool finite = true;
    bool filtered = false;
    bool taken = false;
    bool judged = false;
  };

  [[nodiscard]] Hand take_in(const server::Told& told);
  [[nodiscard]] Hand hand_of(const protocol::GradientId& id) const;
  void check_effect(const server::Effect& effect, Hand& hand);
  void taken_up(const server::TakeUp& taken, Hand& hand);
  void stepped(const server::StepWeights& step);
  void sent(const server::Send& send, Hand& hand);
  void released(WorkerId worker, const protocol::Release& release);
  void judged(WorkerId worker, const protocol::Verdict& verdict, Hand& hand);
  void out_of_date(const Hand& hand, std::uint64_t decisions, const server::Effects& effects) const;
  void close(Member& member, std::uint64_t keeps);
  void dead(Member& member);

  // Constant after construction.
  const std::optional<Duration> silence_;
  // State.
  std::vector<Member> members_;
  Positions positions_;
  std::vector<Used> taken_;  // Since the last step.
  std::vector<Used> used_;
  std::uint64_t version_ = 0;
  std::uint64_t newest_ = 0;  // Sequence given out.
  std::uint32_t live_ = 0;
  std::uint32_t open_ = 0;
  bool finished_ = false;
};

}  // namespace outpace::invariants
