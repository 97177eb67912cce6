// All that a person may see of a run that goes on: fed by its events, decisions and measurements,
// read by the page, the metrics and the alarms.
//
// A pure state machine of bounded memory. A live run and a recorded one feed it alike: from the
// events alone it knows what is computed, applied, dropped, cancelled and waited for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "policy/policy.h"
#include "policy/recent_decisions.h"
#include "policy/stragglers.h"
#include "protocol/messages.h"
#include "protocol/traffic.h"
#include "watch/alarms.h"
#include "watch/lanes.h"
#include "watch/loss_alarm.h"
#include "watch/newest.h"
#include "watch/recent_updates.h"
#include "watch/series.h"
#include "watch/slow_alarms.h"
#include "watch/slow_watch.h"
#include "watch/worker_view.h"

namespace outpace::watch {

inline constexpr std::uint32_t kShownMost = 10'000;  // Workers: a frame of the page has each.

// What does not change, or seldom.
struct About {
  std::string name;  // The policy, as the user wrote it; of several, one after another.
  std::string network;
  std::string data;
  std::string run;  // The directory of its record.
  std::uint32_t workers = 0;
  std::string policy;  // A spec; empty: there is none, as without a server.
  // The present policy's. Without a policy, the topology's: a ring awaits all.
  policy::Stragglers stragglers = policy::Stragglers::kCutOff;
  bool live = true;  // It goes on; false: what is shown is over.
  std::optional<double> target;
  std::uint64_t target_updates = 0;   // 0: none.
  std::uint64_t staleness_bound = 0;  // Beyond it an applied gradient is an alarm; 0: none.

  // Updates do not wait for stragglers, and no worker is cut off.
  [[nodiscard]] bool updates_alone() const {
    return stragglers == policy::Stragglers::kGoOn || stragglers == policy::Stragglers::kPartlyWait;
  }
};

// What the process knows that runs the server.
struct ServerUse {
  double seconds_a_gradient = 0.0;  // Processor time.
  double processor_seconds = 0.0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t gradient_bytes = 0;  // One gradient's, and that of the weights that a worker gets.
  protocol::Traffic traffic{};       // What gradients and weights have taken in all.
  double disk_free_share = 1.0;      // Free on the record's disk,
  std::uint64_t disk_free_bytes = std::numeric_limits<std::uint64_t>::max();
};

// Sums since the run's begin, at a time.
struct Point {
  double seconds = 0.0;
  std::uint64_t version = 0;
  std::uint64_t gradients = 0;  // In the updates.
  std::uint64_t applied = 0;    // Examples, as the next three.
  double dropped = 0.0;
  double cancelled = 0.0;  // Computed in vain, by the time that it took.
  double waiting = 0.0;    // Could have been computed while workers waited.
  std::optional<double> loss;
  std::uint32_t live = 0;
  double update_seconds = 0.0;  // Sum of the times from one update to the next.
  double gain = 0.0;            // As Board::gain(); 0: not known.
};

struct Evaluated {
  double seconds = 0.0;
  std::uint64_t version = 0;
  std::uint64_t examples = 0;
  std::optional<double> accuracy;  // Nothing: not measured.
  std::optional<double> loss;      // As accuracy.
  std::vector<protocol::NamedValue> values{};
};

// A decision as it was, for people.
struct Told {
  Time at{};
  policy::Event event;
  std::string policy;  // The policy that a PolicySet names.
  std::vector<policy::Action> actions;
  policy::Reason reason;
  std::string reason_words;  // For a recorded decision, in place of the reason.
};

struct NewsLine {
  Time at{};
  std::string words;
};

class Board {
 public:
  static constexpr std::size_t kStalenessMost = 1000;
  static constexpr std::size_t kTold = 40;
  static constexpr std::size_t kNews = 200;

  explicit Board(About about, Lanes::Options lanes = {});

  // From here on it keeps the newest decisions, for trace().
  void keep_decisions() { recent_.emplace(); }

  struct Because {
    policy::Reason reason{};
    std::string_view words{};  // In place of it, if they are not empty.
  };
  // An event, and what the policy did about it. Times never decrease.
  void decided(Time now,
               const policy::Event& event,
               std::span<const policy::Action> actions,
               const Because& because);
  // Whatever has changed by itself: the loss, and time.
  void look(Time now, std::optional<double> loss);
  void evaluated(const Evaluated& found);
  void use(Time now, const ServerUse& use);
  void outlook(std::optional<policy::Outlook> outlook) { outlook_ = std::move(outlook); }
  // Where a worker is, as "host:process", and the part of its time that it spent on sending; below
  // 0: not known.
  void worker_is(WorkerId worker, const std::string& host, double sending);
  // The connections between workers without a server are broken, or whole again.
  void links(Time now, bool broken, const std::string& words);
  void says(const std::string& line) { news_line(line); }
  void checkpoint(std::uint64_t version);
  void is_of(const std::string& network, const std::string& data) {
    about_.network = network;
    about_.data = data;
  }
  void ended(const std::string& why);
  // Another server goes on with the run at this time: all workers have gone, and gradients that
  // were taken up since the last update are lost. The run's updates are this many.
  void goes_on(Time now, std::uint64_t version);
  // What the servers of the run before this one did (board_past.cc): what whole_frame() wrote of
  // their board. Nothing that is wrong in it throws; it is left out. REQUIRES: nothing was told
  // yet.
  void remember(const std::string& frame);

  [[nodiscard]] const About& about() const { return about_; }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const Lanes& lanes() const { return lanes_; }
  [[nodiscard]] const Lanes& whole_lanes() const { return whole_; }
  [[nodiscard]] const std::vector<WorkerView>& workers() const { return workers_; }
  [[nodiscard]] const Series<Point>& course() const { return course_; }
  [[nodiscard]] const Series<Evaluated>& evaluations() const { return evaluations_; }
  [[nodiscard]] const std::vector<std::uint64_t>& staleness() const { return staleness_; }
  [[nodiscard]] const std::deque<Told>& told() const { return told_.items(); }
  [[nodiscard]] std::uint64_t decisions() const { return told_.added(); }
  // The newest decisions; nothing unless it keeps them. record::trace_of() makes a trace of them.
  [[nodiscard]] policy::RecentDecisions::Parts recent() const {
    return recent_ ? recent_->keep() : policy::RecentDecisions::Parts{};
  }
  [[nodiscard]] const std::deque<NewsLine>& news() const { return news_.items(); }
  [[nodiscard]] std::uint64_t news_said() const { return news_.added(); }
  [[nodiscard]] Alarms& alarms() { return alarms_; }
  [[nodiscard]] const Alarms& alarms() const { return alarms_; }
  [[nodiscard]] const SlowWatch& slow() const { return slow_; }
  [[nodiscard]] const std::optional<policy::Outlook>& expected() const { return outlook_; }
  [[nodiscard]] const ServerUse& server() const { return use_; }
  [[nodiscard]] const std::string& why_ended() const { return why_ended_; }
  [[nodiscard]] std::optional<Time> last_checkpoint() const { return last_checkpoint_; }
  [[nodiscard]] std::uint64_t checkpoints() const { return checkpoints_; }
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  // The sums now.
  [[nodiscard]] const Point& sums() const { return sums_; }
  [[nodiscard]] std::uint64_t gradients_dropped() const { return gradients_dropped_; }
  [[nodiscard]] std::uint64_t gradients_cancelled() const { return gradients_cancelled_; }
  [[nodiscard]] std::uint64_t gradients_turned_away() const { return turned_away_; }

  // Points of the course are minutes apart in a long run, so these do not come from them.
  [[nodiscard]] std::optional<double> rate() const { return updates_.rate(now_); }
  [[nodiscard]] std::optional<double> update_seconds() const { return updates_.seconds(now_); }
  // Live workers that a typical recent update did without; nothing under a policy that cuts nobody
  // off.
  [[nodiscard]] std::optional<std::uint32_t> cut_off() const;
  // Times faster than if each update waited for all live workers, at their recent runtimes; nothing
  // before all have some, nor where updates do wait for all, nor where only a bound is known that
  // says nothing. A policy's forecast is not asked: of a worker that is always cut off it
  // says what its tail is like, and not how long the worker takes.
  [[nodiscard]] std::optional<double> gain() const;
  // "4 of 8 cut off now; 2.1x waiting for all"; empty if nothing is known, or there is no gain.
  [[nodiscard]] std::string gain_in_words() const;

 private:
  void take(const policy::WorkerJoined& event);
  void take(const policy::WorkerLeft& event);
  void take(const policy::GradientArrived& event);
  void take(const policy::ReleaseEnded& event);
  void take(const policy::TimerFired& /*event*/) {}
  void take(const policy::Measured& /*event*/) {}
  void take(const policy::PolicySet& event);
  void carry_out(const policy::Accept& action);
  void carry_out(const policy::Drop& action);
  void carry_out(const policy::Commit& action);
  void carry_out(const policy::Release& action);
  void carry_out(const policy::Cancel& action);
  void carry_out(const policy::WakeAt& /*action*/) {}
  void carry_out(const policy::Switched& action);

  WorkerView& worker(WorkerId id);
  void become(WorkerId worker, Doing doing);
  // Examples in its full mini-batch; as the others', before it has pushed a gradient.
  [[nodiscard]] double nominal_of(const WorkerView& worker) const {
    return worker.nominal > 0 ? worker.nominal : nominal_;
  }
  // A runtime, of a full mini-batch, or longer.
  void measured(WorkerId id, double seconds, bool longer);
  // Time goes on.
  void reach(Time now);
  void tick();
  void add_waiting();
  // Which policy is in force, of the given chain. Returns it.
  std::string follow_policy(const std::string& chain, std::size_t phase);
  [[nodiscard]] double seconds_for_all() const;
  [[nodiscard]] bool any_longer() const;  // Among the live.
  void news_line(std::string words) { news_.add() = {.at = now_, .words = std::move(words)}; }

  About about_;
  Lanes lanes_;  // Recent lanes,
  Lanes whole_;  // and of the whole run.
  Time now_{};
  std::vector<WorkerView> workers_;
  Point sums_;
  Series<Point> course_;
  Series<Evaluated> evaluations_;
  std::vector<std::uint64_t> staleness_;
  Newest<Told, kTold> told_;
  std::optional<policy::RecentDecisions> recent_;
  Newest<NewsLine, kNews> news_;
  RecentUpdates updates_;
  std::uint32_t accepted_ = 0;  // Gradients since the last update,
  std::uint64_t pending_ = 0;   // and their examples.
  std::uint32_t nominal_ = 0;   // Examples in a full mini-batch, of the last gradient.
  Time last_update_{};
  std::uint64_t gradients_dropped_ = 0;
  std::uint64_t gradients_cancelled_ = 0;
  std::uint64_t turned_away_ = 0;
  SlowWatch slow_;
  SlowAlarms slow_alarms_;
  LossAlarm loss_alarm_;
  Alarms alarms_;
  std::optional<policy::Outlook> outlook_;
  ServerUse use_;
  std::string why_ended_;
  std::string policy_set_;  // By PolicySet, until it is in force.
  std::optional<Time> last_checkpoint_;
  std::uint64_t checkpoints_ = 0;
  std::uint64_t restarts_ = 0;
};

}  // namespace outpace::watch
