#include "collective/gossip.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "collective/neighbour.h"
#include "collective/replicas.h"
#include "update/gradient.h"

namespace outpace::collective {
namespace {

// The two conversations of a meeting.
constexpr std::uint32_t kOffer = 1;
constexpr std::uint32_t kAnswer = 2;

}  // namespace

Gossip::Gossip(const PeerOptions& options,
               std::vector<float> weights,
               GroupOptions joining,
               worker::GradientSource& source,
               const worker::Pace& pace)
    : options_(options),
      joining_(std::move(joining)),
      source_(source),
      pace_(pace),
      // All examples, in this worker's own order.
      order_(options.batches.examples,
             mix(options.seed) + index(options.worker),
             options.with_replacement),
      stepper_(options.rule, source.manifest().sizes()),
      gradient_(weights.size()),
      weights_(std::move(weights)) {
  CHECK(options.batches.workers >= 2);
}

void Gossip::run(Member& member) {
  averaging_ = std::jthread([this, &member] {
    try {
      average(member);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    begun_ = true;
    changed_.notify_all();
  });
  {
    std::unique_lock lock(mutex_);  // A fast worker would be far away before its first meeting.
    changed_.wait(lock, [this] { return begun_; });
  }
  try {
    for (std::uint64_t iteration = 0; !member.stopping(); ++iteration) {
      one_gradient(member, iteration);
      rethrow();
    }
    end_meetings();
    rethrow();
    member.leave();
  } catch (...) {
    end_averaging(member);
    throw;
  }
  end_averaging(member);
}

void Gossip::end_averaging(Member& member) {
  member.resign();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    if (group_ != nullptr) {
      group_->abort();
    }
  }
  averaging_.join();
}

void Gossip::average(Member& member) {
  while (const auto next = member.next_group(Version{meetings()}, Member::Until::kStopped)) {
    GroupOptions options = joining_;
    options.rank = rank_of(options_.worker, *next);
    options.size = static_cast<std::uint32_t>(next->members.size());
    options.generation = next->generation;
    GlooGroup group(std::move(options));
    {
      const std::lock_guard lock(mutex_);
      group_ = &group;
      left_ = false;
    }
    member.set_leave([this, &group] {
      group.abort();
      const std::lock_guard lock(mutex_);
      left_ = true;
      changed_.notify_all();
    });
    bool over = false;
    try {
      group.join();
      {
        const std::lock_guard lock(mutex_);
        begun_ = true;
        changed_.notify_all();
      }
      side_of(rank_of(options_.worker, *next)) == Side::kAsks ? ask(group, *next) : answer(group);
      over = true;
    } catch (const GroupBroken& /*why*/) {
      // The host knows who is gone.
    }
    member.set_leave(nullptr);
    const std::lock_guard lock(mutex_);
    group_ = nullptr;
    meeting_ = false;
    changed_.notify_all();
    if (over) {
      return;
    }
  }
}

std::vector<float> Gossip::weights() const {
  const std::lock_guard lock(mutex_);
  return weights_;
}

std::uint64_t Gossip::meetings() const {
  const std::lock_guard lock(mutex_);
  return meetings_;
}

void Gossip::one_gradient(Member& member, std::uint64_t iteration) {
  before_ = weights();
  want_meeting();
  const Time start = member.now();
  const Time finish = pace_.finish(start, 1.0, iteration);
  if (finish > start) {
    member.sleep_until(finish);
  }
  if (member.stopping()) {
    return;
  }
  const auto begun = std::chrono::steady_clock::now();
  const std::vector<std::uint64_t> examples = order_.examples(next_examples());
  const double loss = source_.compute(before_, examples, gradient_, {}).value();
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (const double extra = pace_.extra_seconds(took); extra > 0.0) {
    member.sleep_until(member.now() + from_seconds(extra));
  }
  const double squared = update::squared_norm(gradient_);
  if (!std::isfinite(squared)) {
    throw Error(ExitCode::kFailure,
                "gradient " + std::to_string(iteration + 1) + " of " + name(options_.worker) +
                    " is not finite: training has diverged; try a smaller --lr");
  }
  if (options_.clip_norm > 0.0) {
    (void)update::clip(gradient_, squared, options_.clip_norm);
  }
  applied_ += examples.size();
  {
    const std::lock_guard lock(mutex_);
    stepper_.step({.examples = examples.size(),
                   .nominal = options_.batches.batch,
                   // The others' counts are unknown here; this worker's stands in for them.
                   .applied = applied_ * options_.batches.workers},
                  gradient_,
                  weights_);
  }
  member.report({.sequence = Sequence{iteration + 1},
                 .examples = static_cast<std::uint32_t>(examples.size()),
                 .loss = loss,
                 .compute_seconds = took,
                 .runtime = to_seconds(member.now() - start)});
}

protocol::Ranges Gossip::next_examples() {
  protocol::Ranges ranges;
  std::uint64_t left = options_.batches.batch;
  while (left > 0) {
    const std::uint64_t end = std::min(options_.batches.examples, position_ + left);
    ranges.push_back({epoch_, position_, end});
    left -= end - position_;
    position_ = end;
    if (position_ == options_.batches.examples) {
      ++epoch_;
      position_ = 0;
    }
  }
  return ranges;
}

void Gossip::want_meeting() {
  const std::lock_guard lock(mutex_);
  wants_meeting_ = true;  // If the last meeting is still going on, one meeting is skipped.
  changed_.notify_all();
}

void Gossip::end_meetings() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !meeting_; });
}

void Gossip::rethrow() {
  const std::lock_guard lock(mutex_);
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

void Gossip::ask(GlooGroup& group, const protocol::Group& members) {
  Neighbours neighbours(rank_of(options_.worker, members),
                        static_cast<std::uint32_t>(members.members.size()),
                        mix(options_.seed) + members.generation);
  std::vector<float> then;
  std::vector<float> theirs(gradient_.size());
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return wants_meeting_ || ending_ || left_; });
    if (ending_) {
      return;
    }
    if (left_) {
      throw GroupBroken("the group is to be left");
    }
    wants_meeting_ = false;
    meeting_ = true;
    then = weights_;
    lock.unlock();
    const std::uint32_t neighbour = neighbours.next();
    group.send(neighbour, kOffer, then);
    group.receive(neighbour, kAnswer, theirs);
    lock.lock();
    meet_halfway(weights_, then, theirs);
    meeting_ = false;
    ++meetings_;
    changed_.notify_all();
  }
}

void Gossip::answer(GlooGroup& group) {
  std::vector<float> then;
  std::vector<float> theirs(gradient_.size());
  while (const auto neighbour = group.receive_any(kOffer, theirs)) {
    {
      const std::lock_guard lock(mutex_);
      then = weights_;
      meet_halfway(weights_, then, theirs);
    }
    group.send(*neighbour, kAnswer, then);
  }
}

}  // namespace outpace::collective
