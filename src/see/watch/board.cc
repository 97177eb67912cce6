#include "watch/board.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/spec.h"
#include "policy/in_turn.h"

namespace outpace::watch {
namespace {

constexpr std::size_t kPoints = 720;
constexpr double kPointPeriod = 0.5;  // Seconds, at first.
constexpr std::size_t kEvaluations = 1000;
// Gradients in a row that end an alarm: the usual staleness may be near the bound.
constexpr std::uint32_t kInBound = 20;

}  // namespace

Board::Board(About about, Lanes::Options lanes)
    : about_(std::move(about)),
      lanes_(lanes),
      whole_({.whole = true}),
      course_(kPoints, kPointPeriod),
      evaluations_(kEvaluations, 0.0) {
  if (!about_.policy.empty()) {
    follow_policy(about_.policy, 0);
  }
}

void Board::decided(Time now,
                    const policy::Event& event,
                    std::span<const policy::Action> actions,
                    const Because& because) {
  reach(now);
  std::visit([this](const auto& one) { take(one); }, event);
  for (const policy::Action& action : actions) {
    std::visit([this](const auto& one) { carry_out(one); }, action);
  }
  // In a run that goes on the server's own line says more.
  if (policy::says_another_follows(because.words)) {
    news_line(std::string(because.words));
  }
  if (recent_) {
    recent_->add(
        now_, event, {.actions = actions, .reason = because.reason, .words = because.words});
  }
  const bool only_timer = std::holds_alternative<policy::TimerFired>(event) &&
                          std::ranges::all_of(actions, [](const policy::Action& action) {
                            return std::holds_alternative<policy::WakeAt>(action);
                          });
  if (!only_timer) {
    Told& told = told_.add();
    told.at = now_;
    told.event = event;
    if (const auto* set = std::get_if<policy::PolicySet>(&event)) {
      told.policy = set->policy;
      told.event = policy::PolicySet{.policy = told.policy};
    }
    told.actions.assign(actions.begin(), actions.end());
    told.reason = because.reason;
    told.reason_words = because.words;
  }
  tick();
}

void Board::reach(Time now) {
  now_ = std::max(now_, now);
  lanes_.advance(now_);
  whole_.advance(now_);
}

void Board::look(Time now, std::optional<double> loss) {
  reach(now);
  if (loss) {
    sums_.loss = loss;
    if (auto alarm = loss_alarm_.see(now_, *loss)) {
      alarms_.tell(*std::move(alarm));
    }
  }
  add_waiting();
  tick();
}

void Board::evaluated(const Evaluated& found) {
  evaluations_.add(found.seconds, found);
}

void Board::use(Time now, const ServerUse& use) {
  now_ = std::max(now_, now);
  use_ = use;
  constexpr double kShareLeast = 0.05;
  constexpr std::uint64_t kBytesLeast = std::uint64_t{1} << 30U;
  const bool full = use.disk_free_share < kShareLeast && use.disk_free_bytes < kBytesLeast;
  alarms_.tell(
      {.at = now_,
       .kind = AlarmKind::kDiskFull,
       .over = !full,
       .words = full ? fmt::format("the disk of the run's record is nearly full: {} MiB are free",
                                   use.disk_free_bytes >> 20U)
                     : "the disk of the run's record has room again"});
}

void Board::links(Time now, bool broken, const std::string& words) {
  now_ = std::max(now_, now);
  alarms_.tell({.at = now_, .kind = AlarmKind::kLinks, .over = !broken, .words = words});
}

void Board::worker_is(WorkerId id, const std::string& host, double sending) {
  worker(id).host = host;
  slow_.is_at(id, host.substr(0, host.rfind(':')));  // Without the process.
  if (sending >= 0.0) {
    lanes_.set_sending(id, sending);
    whole_.set_sending(id, sending);
  }
}

void Board::checkpoint(std::uint64_t version) {
  last_checkpoint_ = now_;
  ++checkpoints_;
  news_line(fmt::format("checkpoint of version {}", version));
}

void Board::ended(const std::string& why) {
  why_ended_ = why;
  about_.live = false;
  news_line("ended: " + why);
}

void Board::take(const policy::WorkerJoined& event) {
  WorkerView& one = worker(event.worker);
  one.live = true;
  one.open = false;
  ++one.joined;
  ++sums_.live;
  const bool back = one.joined > 1;
  const bool stalled = alarms_.is_on(AlarmKind::kStalled, event.worker);
  const std::string who = name(event.worker);
  if (back && !stalled && lanes_.doing(event.worker) == Doing::kGone) {
    ++restarts_;
    slow_.forget(event.worker);
    slow_alarms_.forget(event.worker);
    alarms_.end({.at = now_,
                 .kind = AlarmKind::kSlow,
                 .worker = event.worker,
                 .words = who + " joined again: its past counts no longer"});
  }
  alarms_.end({.at = now_,
               .kind = AlarmKind::kStalled,
               .worker = event.worker,
               .words = who + " answers again"});
  alarms_.end(
      {.at = now_, .kind = AlarmKind::kDead, .worker = event.worker, .words = who + " is back"});
  become(event.worker, Doing::kWaiting);
  news_line(who + (stalled ? " answers again" : back ? " is back" : " has joined"));
}

void Board::take(const policy::WorkerLeft& event) {
  WorkerView& one = worker(event.worker);
  sums_.live -= one.live ? 1U : 0U;
  one.live = false;
  one.open = false;
  const std::string who = name(event.worker);
  switch (event.how) {
    case policy::Departure::kLeft:
      slow_.forget(event.worker);
      become(event.worker, Doing::kGone);
      news_line(who + " has left");
      return;
    case policy::Departure::kDead:
      slow_.forget(event.worker);
      become(event.worker, Doing::kGone);
      news_line(who + " is dead");
      alarms_.begin({.at = now_,
                     .kind = AlarmKind::kDead,
                     .worker = event.worker,
                     .words = who + " is dead"});
      return;
    case policy::Departure::kDrained:
      become(event.worker, Doing::kWaiting);
      return;
    case policy::Departure::kStalled:
      become(event.worker, Doing::kStalled);
      news_line(who + " is stalled");
      alarms_.begin({.at = now_,
                     .kind = AlarmKind::kStalled,
                     .worker = event.worker,
                     .words = who + " is stalled: it is alive, and at a mini-batch for too long"});
      return;
  }
}

void Board::take(const policy::GradientArrived& event) {
  WorkerView& one = worker(event.worker);
  one.open = false;
  one.examples = event.examples;
  one.nominal = event.nominal;
  nominal_ = event.nominal;
  one.computed_on = count(event.computed_on);
  sums_.version = std::max(sums_.version, one.computed_on);
  become(event.worker, Doing::kWaiting);
  const double seconds = to_seconds(event.runtime);
  if (seconds > 0.0) {
    const double whole =
        seconds * static_cast<double>(event.nominal) / static_cast<double>(event.examples);
    one.runtime_sum += seconds;
    ++one.runtimes;
    measured(event.worker, whole, false);
  }
}

void Board::take(const policy::ReleaseEnded& event) {
  WorkerView& one = worker(event.worker);
  const double seconds = to_seconds(now_ - one.released);
  if (event.how == policy::Ending::kAbandoned) {
    ++one.abandoned;
    ++gradients_cancelled_;
    if (one.open && seconds > 0.0) {
      const std::vector<float> recent = one.sample();
      const double usual = recent.empty() ? seconds : std::max(median(recent), 1e-9);
      sums_.cancelled += std::min(1.0, seconds / usual) * nominal_of(one);
      if (one.cancelled) {
        measured(event.worker, seconds / one.share, true);
      }
    }
  } else {
    ++one.turned_away;
    ++turned_away_;
    if (event.runtime > Duration{}) {
      measured(event.worker, to_seconds(event.runtime), false);
    }
  }
  one.open = false;
  become(event.worker, Doing::kWaiting);
}

void Board::take(const policy::PolicySet& event) {
  policy_set_ = event.policy;
  news_line("another policy is asked for: " + policy_set_);
  about_.name = policy::in_turn(std::move(about_.name), policy_set_);
}

void Board::carry_out(const policy::Accept& action) {
  WorkerView& one = worker(action.worker);
  ++one.accepted;
  one.applied += one.examples;
  ++accepted_;
  pending_ += one.examples;
  const std::uint64_t stale = sums_.version > one.computed_on ? sums_.version - one.computed_on : 0;
  const std::size_t place = std::min<std::uint64_t>(stale, kStalenessMost);
  if (staleness_.size() <= place) {
    staleness_.resize(place + 1, 0);
  }
  ++staleness_[place];
  Alarm alarm{.at = now_, .kind = AlarmKind::kStale, .worker = action.worker};
  const bool late = about_.staleness_bound > 0 && stale > about_.staleness_bound;
  one.in_bound = late ? 0 : one.in_bound + 1;
  if (late) {
    alarm.words = fmt::format("a gradient of {} was applied {} updates late; the bound is {}",
                              name(action.worker),
                              stale,
                              about_.staleness_bound);
    alarms_.begin(std::move(alarm));
  } else if (one.in_bound >= kInBound && alarms_.is_on(AlarmKind::kStale, action.worker)) {
    alarm.words = "gradients of " + name(action.worker) + " are within the bound again";
    alarms_.end(std::move(alarm));
  }
}

void Board::carry_out(const policy::Drop& action) {
  WorkerView& one = worker(action.worker);
  ++one.dropped;
  ++gradients_dropped_;
  sums_.dropped += one.examples;
}

void Board::carry_out(const policy::Commit& /*action*/) {
  ++sums_.version;
  sums_.gradients += accepted_;
  sums_.applied += std::exchange(pending_, 0);
  sums_.update_seconds += to_seconds(now_ - last_update_);
  last_update_ = now_;
  updates_.add({.at = now_,
                .gradients = std::exchange(accepted_, 0),
                .live = sums_.live,
                .applied = sums_.applied});
}

void Board::carry_out(const policy::Release& action) {
  WorkerView& one = worker(action.worker);
  one.open = true;
  one.cancelled = false;
  one.released = now_;
  one.share = action.share;
  become(action.worker, Doing::kComputing);
}

void Board::carry_out(const policy::Cancel& action) {
  worker(action.worker).cancelled = true;
  become(action.worker, Doing::kCancelled);
}

void Board::carry_out(const policy::Switched& action) {
  if (!policy_set_.empty()) {
    about_.policy = std::exchange(policy_set_, {});
  }
  const std::string policy = follow_policy(about_.policy, action.to);
  news_line(fmt::format("the policy is {} from version {} on", policy, sums_.version));
}

WorkerView& Board::worker(WorkerId id) {
  if (workers_.size() <= index(id)) {
    workers_.resize(index(id) + 1);
  }
  return workers_[index(id)];
}

void Board::become(WorkerId id, Doing doing) {
  lanes_.become(now_, id, doing);
  whole_.become(now_, id, doing);
}

void Board::measured(WorkerId id, double seconds, bool longer) {
  WorkerView& one = worker(id);
  (longer ? one.cut : one.whole).add(seconds);
  one.cut_in_a_row = longer ? one.cut_in_a_row + 1 : 0;
  if (const auto change = slow_.see(id, seconds, longer)) {
    const std::optional<Alarm> over = slow_alarms_.see(now_, *change);
    if (over && alarms_.is_on(over->kind, over->worker)) {
      news_line(over->words);
      alarms_.tell(*over);
    }
  }
}

void Board::tick() {
  for (Alarm& alarm : slow_alarms_.due(now_, slow_, workers_)) {
    news_line(alarm.words);
    alarms_.begin(std::move(alarm));
  }
  const double seconds = to_seconds(now_);
  if (!course_.due(seconds)) {
    return;
  }
  add_waiting();
  sums_.seconds = seconds;
  sums_.gain = gain().value_or(0.0);
  course_.add(seconds, sums_);
}

// A worker that waits could have computed as many examples as it does in that time at its usual
// speed.
void Board::add_waiting() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    WorkerView& one = workers_[i];
    const double waited = lanes_.waited(WorkerId{static_cast<std::uint32_t>(i)});
    const double more = waited - std::exchange(one.waited_counted, waited);
    if (more > 0.0 && !one.sample().empty()) {
      sums_.waiting += more * nominal_of(one) / std::max(median(one.sample()), 1e-9);
    }
  }
}

}  // namespace outpace::watch
