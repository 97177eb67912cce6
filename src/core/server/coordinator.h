// Owns the policy, the version, the members and the leases, and turns what workers say into
// effects.
//
// It is a pure state machine. A driver (driver.h) passes each message with the time it came,
// carries the effects out in order, and calls tick() at next_deadline(). Gradients and weights are
// in the shard (shard.h): here a gradient is an identity and a number of examples. A gradient is
// applied exactly once or not at all. It must answer the release that its worker has open, under
// the job, generation and incarnation that the worker joined with. A repeated push gets its first
// verdict again.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/archive.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/spec.h"
#include "base/time.h"
#include "policy/policy.h"
#include "protocol/messages.h"
#include "server/effects.h"
#include "server/failed_examples.h"
#include "server/learning_rate.h"
#include "server/leases.h"
#include "server/noise_scale.h"
#include "server/policy_rules.h"
#include "server/stall.h"
#include "server/statistics_collector.h"
#include "update/judgement.h"
#include "update/schedule.h"
#include "update/staleness.h"

namespace outpace::server {

// When the run ends; 0 means no such limit. The first one reached counts.
struct Limits {
  std::uint64_t updates = 0;
  std::uint64_t iterations = 0;  // Gradients that arrived.
  std::uint64_t epochs = 0;      // Drains: every example of the last epoch is used.
  Duration seconds{};
};

// When a checkpoint is due: with neither, never.
struct CheckpointEvery {
  std::uint64_t updates = 0;
  Duration time{};  // At the first update after it has passed.

  bool operator==(const CheckpointEvery&) const = default;
};

// A worker's own steps between a release and its push.
struct LocalSteps {
  std::uint32_t most = 1;  // Mini-batches of a whole phase; times `batch` below 2^32.
  std::string optimizer;   // As update::make_optimizer() takes it.
  double weight_decay = 0.0;
  double rate = 0.1;  // Before the schedule, which counts applied examples.
  update::Schedule schedule;
};

struct CoordinatorOptions {
  std::uint64_t job = 1;
  std::uint32_t generation = 1;
  std::uint32_t workers = 1;      // At most. The run starts when this many have joined,
  std::uint32_t later = 0;        // less those that come later, or perhaps never.
  std::uint32_t min_workers = 1;  // With fewer for `patience` the run fails.
  std::uint32_t batch = 32;       // Examples in a full mini-batch.
  // A release is a phase of several mini-batches; its worker makes a step of its own with each.
  std::optional<LocalSteps> local_steps = std::nullopt;
  std::uint64_t examples = 1;  // In the data set.
  std::uint64_t seed = 1;
  bool with_replacement = false;
  Limits limits;
  // The policy with the default rules; nothing: each gradient counts in full without a given rule.
  std::optional<Spec> policy = std::nullopt;
  // Given by the user: under every policy. Nothing: each policy has its own.
  std::optional<update::StalenessRule> staleness = std::nullopt;
  double rate = 0.1;  // Learning rate before schedule and scale.
  update::Schedule schedule;
  update::RateScale rate_scale = update::RateScale::kNone;
  // Whether the optimizer that the workers brought is: the policy is told at the start. Nothing:
  // they brought none, and the policy was made for the server's.
  std::optional<bool> scale_invariant = std::nullopt;
  // Its examples and weights come from a server above, release by release: see feed().
  bool fed = false;
  std::uint64_t evaluate_every = 5120;  // Applied examples between snapshots.
  CheckpointEvery checkpoint_every;
  Duration heartbeat_timeout = std::chrono::seconds(5);  // A worker silent for this is dead.
  Duration resume_patience = std::chrono::seconds(5);    // For one more to come, on resuming.
  std::optional<Duration> progress_timeout;              // As in StallRule.
  Duration patience = std::chrono::seconds(60);          // For workers to come,
  Duration return_patience = std::chrono::minutes(10);   // and, once the run has begun, again.
};

// A worker that comes, for the first time or again. The driver counts incarnations.
struct Newcomer {
  WorkerId worker;
  std::uint32_t incarnation = 1;
  std::string host;              // For people.
  std::uint32_t ahead = 0;       // Releases whose examples it is told ahead.
  std::uint32_t stands_for = 1;  // As protocol::Hello has it.
};

// A release of a server above, for all workers together.
struct Feed {
  Version version;
  std::uint32_t nominal = 1;   // Examples in a full mini-batch of one worker.
  bool may_keep_part = false;  // As protocol::Release has it.
  protocol::Ranges ranges;
};

// Large class: one event may change the members, their leases and the version together.
// One is made, and its state reads best in this order.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class Coordinator {
 public:
  // Sees every decision before it is carried out: the run's record.
  using Observer = std::function<void(Time, const policy::Event&, const policy::Decision&)>;

  // Time given to the calls below is the driver's clock; it may begin anywhere. `created` is now.
  Coordinator(const CoordinatorOptions& options,
              std::unique_ptr<policy::Policy> policy,
              Observer observer,
              Time created);

  // What gradients and weights have taken since the driver began: for the statistics.
  void carried(const protocol::Traffic& traffic) { statistics_.carried(traffic); }
  // Whether this worker's last push was accepted, and answered this release. A worker that comes
  // again asks, if it lost its connection before it heard the verdict.
  [[nodiscard]] bool counted(WorkerId worker, Sequence release) const;

  // Messages of worker `soon`, and then of worker `next`, are about to be handled. Prefetches their
  // state into the processor's cache. Changes nothing.
  void prepare(WorkerId soon, WorkerId next) const;

  // ---- What workers said. `out` is appended to. ----

  // A newer incarnation takes the place of an older one that is live. False, and nothing changes,
  // if one that is as new or newer is live.
  [[nodiscard]] bool join(Time now, const Newcomer& newcomer, Effects& out);
  void leave(
      Time now, WorkerId worker, std::uint32_t incarnation, policy::Departure how, Effects& out);
  // The shard holds the gradient whole, unless it is judged not to be sound.
  void push(Time now, const protocol::Push& push, update::Judgement judgement, Effects& out);
  void abandon(Time now, const protocol::Abandoned& abandoned, Effects& out);
  void heard(Time now, WorkerId worker, std::uint32_t incarnation);
  void measured(Time now, policy::Measured measured, Effects& out);
  // The effects, of this call or a later one, say from which version on it decides. REQUIRES: the
  // run has started; the policy is a policy::Switch; there is a policy of this spec.
  void set_policy(Time now, std::string_view policy, Effects& out);
  // The norms of a step that asked for them (norms_for).
  void measured_norms(Time now, Version version, const GradientNorms& norms, Effects& out);

  // ---- Fed by a server above (coordinator_fed.cc) ----
  //
  // The workers of one machine hand in one gradient. feed() gives them what the server above has
  // released to the machine; the policy decides as ever, and where another coordinator commits,
  // this one hands in (HandIn). Until the next feed() nobody is released, and the run's clock
  // stands still, so that the policy times computing alone.

  // REQUIRES: options().fed; started().
  void feed(Time now, const Feed& feed, Effects& out);
  // The server above wants no more than what is there by now (`keep_part`), or nothing. What comes
  // later counts no more. REQUIRES: options().fed.
  void close_feed(Time now, bool keep_part, Effects& out);
  // A feed is open, and nothing more can come of it.
  [[nodiscard]] bool feed_is_dry() const;

  // ---- Time and the end ----

  // Deadlines that have passed: the start, silence, the policy's timer, the limit on seconds.
  void tick(Time now, Effects& out);
  // The latest time at which tick() should be called next.
  [[nodiscard]] Time next_deadline() const;
  // No worker will join any more; if too few are live, the run fails now and not after `patience`.
  void nobody_will_join(Time now, Effects& out);
  void finish(Time now, ExitCode code, const std::string& why, Effects& out);
  // A worker that has left did so because its script's loop has ended, as the script wants. If all
  // have left by now, the run ends.
  void loop_ended(Time now, Effects& out);

  // ---- A run that goes on after its server died ----

  // What decides what comes next, as it is when all workers have left, and what they had pushed
  // since the last update is forgotten: their examples go out again. When it is read, the run goes
  // on once as many workers have joined as were live, or when no other has come for
  // `resume_patience` with those that are there. REQUIRES: between two calls; if it is read, nobody
  // has joined yet.
  void keep(Time now, Archive& archive);

  // It would answer the open release of its worker.
  [[nodiscard]] bool awaits(const protocol::GradientId& id) const;
  // Workers that have a release open.
  [[nodiscard]] std::uint32_t computing() const;
  [[nodiscard]] bool started() const { return started_.has_value(); }
  [[nodiscard]] bool finished() const { return finished_; }
  // Since the first weights were handed out. REQUIRES: started().
  [[nodiscard]] Time run_time(Time now) const;
  [[nodiscard]] Version version() const { return version_; }
  // Workers that take part: those that are stalled do not.
  [[nodiscard]] std::uint32_t live() const { return live_; }
  [[nodiscard]] const Statistics& statistics() const { return statistics_.statistics(); }
  // Moves the statistics out: those of many workers are large. REQUIRES: finished().
  [[nodiscard]] Statistics take_statistics();
  [[nodiscard]] const CoordinatorOptions& options() const { return options_; }
  // The staleness rule in force.
  [[nodiscard]] const update::StalenessRule& staleness() const { return rules_.staleness(); }
  // What the policy expects of the present update; false if it forecasts nothing.
  [[nodiscard]] bool outlook(policy::Outlook& out) const { return policy_->outlook(out); }

 private:
  enum class State : std::uint8_t { kAbsent, kIdle, kComputing, kParked, kStalled };
  struct Member {
    State state = State::kAbsent;
    // The arrived gradient's, between its arrival and the policy's answer:
    bool partial = false;
    bool answered = true;
    bool cancelled = false;  // The open release is.
    std::uint32_t incarnation = 0;
    std::uint32_t examples = 0;    // The arrived gradient's, too.
    std::uint32_t stands_for = 1;  // Mini-batches of a release of share 1.
    std::optional<double> loss;
    Time last_heard{};
    // The open release; meaningful while computing. A stalled worker's: the one that it was at.
    Sequence sequence{};
    Version version{};
    Time released{};
    protocol::Ranges ranges;
    // Leased too: the examples of its next releases, which it may load already.
    std::uint32_t ahead_most = 0;
    std::vector<protocol::Ranges> ahead;
    // For a push that is repeated because its verdict was lost, and for counted().
    std::optional<protocol::Verdict> last_verdict;
    std::uint64_t in_vain = 0;  // Releases in a row of which nothing was applied.
    bool turned_away = false;   // Its last gradient was: refused, or filtered.
    bool warned_of = false;     // People know that it is starved.
    std::uint32_t ended = 0;    // As in StallRule, the next one as well.
    std::uint32_t stalls_in_a_row = 0;
  };
  struct Parked {
    std::uint64_t in_vain;
    WorkerId worker;
    bool operator<(const Parked& other) const {
      return std::tie(in_vain, worker) < std::tie(other.in_vain, other.worker);
    }
  };

  void start(Time now, Effects& out);
  // A worker that stands for several has as large a part in the unit of the learning rate's scale.
  void count_stand_ins();
  void enqueue(const policy::Event& event) { events_.push_back(event); }
  // Decides the queued events and those that decisions add, then lets the parked come back.
  void decide_all(Time now, Effects& out);
  void decide_queued(Time now, Effects& out);
  void rejoin_parked(Time now, Effects& out);
  void carry_out(Time now, const policy::Decision& decision, Effects& out);

  void switch_to(std::uint32_t phase, Effects& out);
  void accept(const policy::Accept& action, Effects& out);
  void drop(const policy::Drop& action, Effects& out);
  void commit(Time now, Effects& out);
  void release(Time now, const policy::Release& action, Effects& out);
  // Leases examples for the release that begins, and for those after it.
  void lease(Member& member, const policy::Release& action);
  // Examples of a release of share 1.
  [[nodiscard]] std::uint32_t whole_lease() const {
    return batch_ * (options_.local_steps ? options_.local_steps->most : 1);
  }
  // The learning rate of local steps that begin now.
  [[nodiscard]] double inner_rate() const;
  // What is leased for later releases goes back.
  void give_back_ahead(Member& member, WorkerId worker);
  void cancel(const policy::Cancel& action, Effects& out);

  // The examples of its open release failed. Those that have failed often enough leave the release.
  FailedExamples::Outcome fail_examples(Member& member, WorkerId worker);
  void leave_out(protocol::Ranges ranges, std::string why, Effects& out);
  void tell_epochs();
  // The gradient was not finite, or is filtered: counts it and tells the worker.
  void turn_away(Member& member, WorkerId worker, update::Judgement judgement, Effects& out);
  [[nodiscard]] bool may_take_its_own(const Member& member) const;

  // The member, if this is its present incarnation and it takes part.
  [[nodiscard]] Member* present(WorkerId worker, std::uint32_t incarnation);
  [[nodiscard]] Member* answering(const protocol::GradientId& id, Effects& out);
  void end_release(Member& member, WorkerId worker, bool in_vain, Effects& out);
  void send_verdict(Member& member,
                    WorkerId worker,
                    protocol::Outcome outcome,
                    std::optional<std::string> why,
                    Effects& out);
  // Looked at after every action: what has to be done about a limit stands apart.
  void check_limits(Time now, Effects& out) {
    if (limit_reached(now) != nullptr || turned_away_in_a_row_ >= turned_away_max_) {
      end_at_limit(now, out);
    }
  }
  void end_at_limit(Time now, Effects& out);
  // In words; null if none is.
  [[nodiscard]] const char* limit_reached(Time now) const;
  void check_live(Time now, Effects& out);
  [[nodiscard]] Duration patience() const {
    return started() ? options_.return_patience : options_.patience;
  }
  // Workers that were silent for the heartbeat timeout are counted as dead.
  void dismiss_silent(Time now, Effects& out);
  // If this tick is late, the driver itself stood still, and what workers said meanwhile waits to
  // be heard: judges nobody by time for a while. In coordinator_stall.cc, as all below.
  void spare_if_late(Time now, Effects& out);
  // When somebody may count as silent or stalled.
  [[nodiscard]] Time next_judgement() const {
    return std::max(std::min(silence_check_, stall_check_), spared_until_);
  }
  // Workers that live and were at a release for too long.
  void look_for_stalled(Time now, Effects& out);
  void set_aside(Time now, WorkerId worker, Effects& out);
  // A stalled worker has answered: it takes part again.
  void take_back(Time now, WorkerId worker, Effects& out);
  void take_late_push(Time now, const protocol::Push& push, Effects& out);
  // Which examples the gradient is of. False if it cannot be of these.
  [[nodiscard]] bool take_covers(const Member& member, const protocol::Push& push);
  // In coordinator_fed.cc, as all below.
  void hand_in(Time now, Effects& out);
  void end_feed(Time now);
  void stop_clock(Time now);
  void start_clock(Time now);
  // Takes it if the member's feed has ended.
  bool take_after_feed(Time now, Member& member, const protocol::Push& push, Effects& out);

  // Constant after construction.
  const CoordinatorOptions options_;
  const std::unique_ptr<policy::Policy> policy_;
  const Observer observer_;
  const std::uint64_t turned_away_max_;  // In a row.
  const StallRule stall_rule_;
  // State.
  std::uint32_t batch_;  // The options', or the last feed's.
  PolicyRules rules_;
  LearningRate rate_;
  std::uint32_t nominal_ = 1;  // Gradients of an update, when the present decision was made.
  Leases leases_;
  FailedExamples failed_;
  std::vector<Member> members_;
  std::uint32_t live_ = 0;             // Members that are neither absent nor stalled.
  std::set<Parked> parked_;            // Workers that found no data.
  Time silence_check_ = Time::max();   // No live member is silent too long before.
  Time stall_check_ = Time::max();     // No member is at a release for too long before.
  Time spared_until_ = Time::min();    // Nobody counts as silent or stalled before.
  std::vector<policy::Event> events_;  // Not decided yet; empty between calls.
  policy::Decision decision_;
  std::vector<AppliedGradient> accepted_;  // Since the last commit.
  protocol::Ranges accepted_ranges_;
  // An arrived gradient that says which examples it covers: these, and the release's others.
  struct Covered {
    protocol::Ranges covers;
    protocol::Ranges rest;
  };
  std::map<WorkerId, Covered> covered_;
  Version version_{};
  std::uint64_t sequences_ = 0;
  std::uint64_t iterations_ = 0;  // Gradients that were accepted, dropped or turned away.
  std::uint64_t turned_away_in_a_row_ = 0;
  std::uint64_t filtered_in_a_row_ = 0;  // Gradients that the filter turned away.
  std::set<WorkerId> turned_away_;       // Workers that were turned away.
  std::uint32_t warned_of_ = 0;          // Members.
  std::uint64_t next_snapshot_;          // Applied examples at which one is due.
  std::optional<Time> started_;
  Duration run_before_{};    // How long the run took before this server went on with it.
  std::uint32_t awaited_;    // Members with which the run starts,
  Duration start_patience_;  // or after this time with fewer.
  bool resumed_ = false;
  bool checkpoint_due_ = false;
  std::uint64_t last_checkpoint_ = 0;       // The version,
  std::optional<Time> last_checkpoint_at_;  // and when it was.
  std::optional<Time> policy_timer_;        // On the driver's clock.
  Time too_few_since_;
  bool nobody_will_join_ = false;
  bool finished_ = false;
  StatisticsCollector statistics_;
  NoiseScale noise_;
  // If it is fed:
  enum class FeedState : std::uint8_t {
    kNone,       // Nobody is released until the next feed.
    kOpen,       // Its examples go out.
    kClosing,    // They do not any more.
    kWithdrawn,  // Nor is anything handed in.
  };
  FeedState feed_state_ = FeedState::kNone;
  bool feed_keeps_part_ = false;
  bool withdrawn_ = false;                 // A feed, and nothing was handed in since.
  std::vector<policy::Release> deferred_;  // To the next feed.
  std::optional<Time> stands_since_;       // On the driver's clock: since then the run's stands.
};

inline Time Coordinator::run_time(Time now) const {
  CHECK(started_.has_value());
  return Time{(stands_since_ ? *stands_since_ : now) - *started_};
}

inline const char* Coordinator::limit_reached(Time now) const {
  const Limits& limits = options_.limits;
  if (limits.updates != 0 && count(version_) >= limits.updates) {
    return "updates done";
  }
  if (limits.iterations != 0 && iterations_ >= limits.iterations) {
    return "iterations done";
  }
  if (leases_.finished()) {
    return "epochs done";
  }
  if (limits.seconds > Duration{} && started() && now - *started_ >= limits.seconds) {
    return "time is up";
  }
  return nullptr;
}

}  // namespace outpace::server
