#include "collective/replica.h"

#include <utility>

#include "base/check.h"
#include "collective/replicas.h"

namespace outpace::collective {

Replica::Replica(std::vector<float> weights, peer::Turns turns)
    : weights_(std::move(weights)), turns_(std::move(turns)) {}

std::vector<float> Replica::weights() const {
  const std::lock_guard lock(mutex_);
  return weights_;
}

void Replica::copy_weights(std::vector<float>& into) const {
  const std::lock_guard lock(mutex_);
  into = weights_;
}

std::vector<float> Replica::shown() const {
  const std::lock_guard lock(mutex_);
  return holds_centre_ ? centre_ : weights_;
}

std::size_t Replica::size() const {
  const std::lock_guard lock(mutex_);
  return weights_.size();
}

std::uint64_t Replica::meetings() const {
  const std::lock_guard lock(mutex_);
  return turns_.meetings();
}

void Replica::begin_gradient() {
  const std::lock_guard lock(mutex_);
  turns_.begin_gradient();
  changed_.notify_all();
}

bool Replica::met_within(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [this] { return !turns_.waits(); });
}

void Replica::step(const std::function<void(std::vector<float>&)>& step) {
  const std::lock_guard lock(mutex_);
  turns_.apply();
  if (pushes_ > 0) {
    mean_with(weights_, pushed_, pushes_);
    pushes_ = 0;
  }
  step(weights_);
}

void Replica::end_meetings() {
  std::unique_lock lock(mutex_);
  turns_.end();
  changed_.notify_all();
  changed_.wait(lock, [this] { return turns_.quiet(); });
}

void Replica::connected() {
  const std::lock_guard lock(mutex_);
  turns_.connected();
}

void Replica::disconnected() {
  const std::lock_guard lock(mutex_);
  turns_.disconnected();
  left_ = false;
  changed_.notify_all();
}

void Replica::leave_group() {
  const std::lock_guard lock(mutex_);
  left_ = true;
  changed_.notify_all();
}

std::optional<Replica::Meeting> Replica::begin_meeting() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return left_ || turns_.ready(); });
  return left_ ? std::nullopt : std::optional(turns_.begin());
}

void Replica::invited(std::uint32_t by) {
  const std::lock_guard lock(mutex_);
  turns_.invited(by);
  changed_.notify_all();
}

void Replica::meet_halfway(std::span<const float> then, std::span<const float> theirs, bool own) {
  const std::lock_guard lock(mutex_);
  collective::meet_halfway(weights_, then, theirs);
  over(own);
}

void Replica::pulled(std::span<const float> theirs) {
  const std::lock_guard lock(mutex_);
  collective::meet_halfway(weights_, weights_, theirs);
  over(/*own=*/true);
}

std::vector<float> Replica::for_newcomer(bool centre) const {
  const std::lock_guard lock(mutex_);
  return centre && !centre_.empty() ? centre_ : weights_;
}

void Replica::begin_with(std::vector<float> weights) {
  const std::lock_guard lock(mutex_);
  CHECK(weights.size() == weights_.size());
  weights_ = std::move(weights);
  centre_ = weights_;
}

void Replica::hold_centre(bool holds) {
  const std::lock_guard lock(mutex_);
  holds_centre_ = holds;
  if (centre_.empty()) {
    centre_ = weights_;
  }
}

void Replica::meet_centre(float alpha) {
  const std::lock_guard lock(mutex_);
  CHECK(holds_centre_);
  const std::vector<float> then = weights_;
  move_towards(weights_, then, centre_, alpha);
  const std::vector<float> centre = centre_;
  move_towards(centre_, centre, then, alpha);
  over(/*own=*/true);
}

void Replica::meet_centre(std::span<const float> then, std::span<const float> centre, float alpha) {
  const std::lock_guard lock(mutex_);
  move_towards(weights_, then, centre, alpha);
  centre_.assign(centre.begin(), centre.end());
  move_towards(centre_, centre, then, alpha);
  over(/*own=*/true);
}

std::vector<float> Replica::answer_of_centre(std::span<const float> theirs,
                                             float alpha,
                                             const AsSent& as_sent) {
  const std::lock_guard lock(mutex_);
  CHECK(holds_centre_);
  std::vector<float> then = centre_;
  if (as_sent) {
    as_sent(then);
  }
  move_towards(centre_, then, theirs, alpha);
  return then;
}

void Replica::sent() {
  const std::lock_guard lock(mutex_);
  over(/*own=*/true);
}

void Replica::skip() {
  const std::lock_guard lock(mutex_);
  turns_.skip();
  changed_.notify_all();
}

void Replica::push_in(std::span<const float> theirs) {
  const std::lock_guard lock(mutex_);
  CHECK(theirs.size() == weights_.size());
  if (pushes_++ == 0) {
    pushed_.assign(theirs.begin(), theirs.end());
    return;
  }
  for (std::size_t i = 0; i < pushed_.size(); ++i) {
    pushed_[i] += theirs[i];
  }
}

void Replica::carried(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  carried_.add(weights_.size(), bytes);
}

protocol::Carried Replica::take_carried() {
  const std::lock_guard lock(mutex_);
  return std::exchange(carried_, {});
}

void Replica::over(bool own) {
  turns_.over(own);
  changed_.notify_all();
}

}  // namespace outpace::collective
