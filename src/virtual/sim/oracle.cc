#include "sim/oracle.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/overloaded.h"

namespace outpace::sim {
namespace {

constexpr double kKept = 0.99;  // The share of the past kept each iteration.

}  // namespace

Oracle::Oracle(Foresight foresight)
    : foresight_(std::move(foresight)), round_(std::numeric_limits<std::uint32_t>::max()) {}

void Oracle::decide(Time now, const policy::Event& event, policy::Decision& out) {
  take_in(event);
  round_.set_cutoff(accepted_ > 0 && is_enough(now) ? accepted_
                                                    : std::numeric_limits<std::uint32_t>::max());
  round_.decide(now, event, out);
  follow(now, out);
}

void Oracle::take_in(const policy::Event& event) {
  std::visit(Overloaded{[&](const policy::GradientArrived& gradient) {
                          accepted_ += open_.at(gradient.worker) == version_ ? 1U : 0U;
                          open_.erase(gradient.worker);
                        },
                        [&](const policy::ReleaseEnded& ended) { open_.erase(ended.worker); },
                        [&](const policy::WorkerLeft& left) { open_.erase(left.worker); },
                        Ignoring<policy::WorkerJoined,
                                 policy::TimerFired,
                                 policy::Measured,
                                 policy::PolicySet>{}},
             event);
}

bool Oracle::is_enough(Time now) {
  if (!(seconds_ > 0.0)) {
    return false;  // There is no rate yet: the first round waits for all.
  }
  waits_.clear();
  for (const auto& [worker, version] : open_) {
    const std::optional<Time> due = version == version_ ? foresight_(worker) : std::nullopt;
    if (due) {
      waits_.push_back(to_seconds(*due - now));
    }
  }
  std::sort(waits_.begin(), waits_.end());
  const double rate = gradients_ / seconds_;
  double gained = 0.0;
  return std::all_of(waits_.begin(), waits_.end(), [&](double wait) {
    gained += 1.0;
    return gained - rate * wait <= 0.0;
  });
}

void Oracle::follow(Time now, const policy::Decision& decision) {
  for (const policy::Action& action : decision.actions) {
    std::visit(Overloaded{[&](const policy::Commit&) {
                            gradients_ = kKept * gradients_ + static_cast<double>(accepted_);
                            seconds_ = kKept * seconds_ + to_seconds(now - begun_);
                            begun_ = now;
                            accepted_ = 0;
                            ++version_;
                          },
                          [&](const policy::Release& release) { open_[release.worker] = version_; },
                          Ignoring<policy::Accept,
                                   policy::Drop,
                                   policy::Cancel,
                                   policy::WakeAt,
                                   policy::Switched>{}},
               action);
  }
}

}  // namespace outpace::sim
