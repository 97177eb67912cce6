#include "live/phase_work.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/spec.h"
#include "live/slowed.h"
#include "worker/inbox.h"
#include "worker/order.h"

namespace outpace::live {

using worker::CancelMode;

bool PhaseWork::answer(LastingSession::Task& task) {
  const std::size_t whole = task.examples.size();
  const protocol::Release& release = task.work.release;
  const std::uint64_t numbers = computing_.source.manifest().numbers();
  if (!session().weights_are_there(numbers) && !session().wait_for_weights(numbers)) {
    ahead_.reset();
    return false;
  }
  WorkerSession::Result result = begin(task);
  steps(release, release.ranges, task.examples, result, [this] {
    return session().cancelled() == CancelMode::kNone;
  });
  if (result.examples == 0 || session().cancelled() == CancelMode::kAbandon) {
    return false;
  }
  result.partial = result.examples < whole;
  result.loss = phase_->loss();
  const std::span<float> gradient = session().gradient();
  phase_->difference(task.work.weights, gradient);
  if (computing_.attacker) {
    computing_.attacker->corrupt(gradient);
  }
  task.work.weights = {};  // The server may use their memory again.
  computing_.start_push(result);
  if (!result.partial && may_go_ahead(task)) {
    go_ahead(task);
  }
  judged(computing_.finish_push(), release.version);
  return true;
}

WorkerSession::Result PhaseWork::begin(const LastingSession::Task& task) {
  update::LocalPhase& phase = this->phase(task.work.release.version);
  const std::optional<Ahead> ahead = std::exchange(ahead_, std::nullopt);
  if (task.work.release.kept && !ahead) {  // A phase that went ahead is of no version.
    computing_.keep(task.work.release.version, StateKeeper::When::kAtCheckpoint, &phase);
  }
  const bool fits =
      ahead && ahead->nominal == task.work.release.nominal &&
      ahead->examples.size() <= task.examples.size() &&
      std::equal(ahead->examples.begin(), ahead->examples.end(), task.examples.begin());
  if (!fits) {
    phase.begin(task.work.weights);
    return {};
  }
  phase.take_up(task.work.weights);
  WorkerSession::Result result{};
  result.examples = static_cast<std::uint32_t>(ahead->examples.size());
  result.compute_seconds = ahead->compute_seconds;
  return result;
}

template <typename GoesOn>
void PhaseWork::steps(const protocol::Release& release,
                      const protocol::Ranges& ranges,
                      std::span<const std::uint64_t> examples,
                      WorkerSession::Result& result,
                      const GoesOn& goes_on) {
  while (result.examples < examples.size() && goes_on()) {
    const std::size_t left = examples.size() - result.examples;
    const auto batch =
        examples.subspan(result.examples, std::min<std::size_t>(release.nominal, left));
    if (computing_.wait_for_pace(release.nominal, batch.size()) < batch.size()) {
      return;
    }
    computing_.source.begin_epoch(worker::epoch_at(ranges, result.examples));
    if (!step(release.inner_rate, batch, result)) {
      return;
    }
  }
}

bool PhaseWork::step(double rate,
                     std::span<const std::uint64_t> batch,
                     WorkerSession::Result& result) {
  Slowed slowed(session(), computing_.pace);
  const auto loss = computing_.source.compute(phase_->weights(), batch, phase_->gradient(), [this] {
    return session().cancelled() == CancelMode::kAbandon;
  });
  if (!loss || !slowed.wait()) {
    return false;
  }
  phase_->step(rate, *loss, batch.size());
  result.examples += static_cast<std::uint32_t>(batch.size());
  result.compute_seconds += slowed.computed_seconds();
  return true;
}

bool PhaseWork::may_go_ahead(const LastingSession::Task& task) {
  return steps_ahead_ && phase_->can_go_on() && !task.ahead.empty() &&
         !task.ahead.front().empty() && session().slowness() == 1.0 &&
         session().cancelled() == CancelMode::kNone;
}

void PhaseWork::go_ahead(const LastingSession::Task& task) {
  phase_->go_on();
  WorkerSession::Result result{};
  const std::vector<std::uint64_t>& examples = task.ahead.front();
  steps(task.work.release, task.work.release.ahead.front(), examples, result, [this] {
    return session().await_news(Duration{}) == WorkerSession::News::kNone;
  });
  if (result.examples > 0) {
    ahead_ = Ahead{.examples = {examples.begin(), examples.begin() + result.examples},
                   .nominal = task.work.release.nominal,
                   .compute_seconds = result.compute_seconds};
  }
}

update::LocalPhase& PhaseWork::phase(Version at) {
  if (!phase_) {
    const protocol::Welcome& welcome = session().welcome();
    phase_.emplace(Spec::parse(welcome.inner_optimizer),
                   welcome.inner_weight_decay,
                   computing_.source.manifest().sizes());
    computing_.take_up(at, &*phase_);
  }
  return *phase_;
}

void PhaseWork::judged(const std::optional<protocol::Verdict>& verdict, Version at) {
  if (!verdict || verdict->outcome == protocol::Outcome::kRefused) {
    ahead_.reset();
    return;
  }
  computing_.keep(at, StateKeeper::When::kAfterPush, &*phase_);
}

}  // namespace outpace::live
