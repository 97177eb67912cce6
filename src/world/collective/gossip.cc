#include "collective/gossip.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "collective/handover.h"
#include "collective/meetings.h"
#include "peer/conversation.h"
#include "peer/turns.h"
#include "update/gradient.h"

namespace outpace::collective {
namespace {

// How often a worker that waits for a meeting looks whether the run ends.
constexpr std::chrono::milliseconds kLook{50};

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
      replica_(std::move(weights),
               peer::Turns(options.averaging, options.average_every, options.journal)) {
  CHECK(options.batches.workers >= 2);
}

void Gossip::run(Member& member) {
  member.listen_by(joining_.links);
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
    replica_.end_meetings();
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
    if (group_ != nullptr) {
      group_->abort();
    }
  }
  replica_.leave_group();
  averaging_.join();
}

void Gossip::average(Member& member) {
  while (const auto next = member.next_group(Version{meetings()}, Member::Until::kStopped)) {
    GroupOptions options = joining_;
    options.rank = rank_of(options_.worker, *next);
    options.size = static_cast<std::uint32_t>(next->members.size());
    options.generation = next->generation;
    options.places = next->places;
    options.dead_link = member.silence_allowed();
    GlooGroup group(options);
    {
      const std::lock_guard lock(mutex_);
      if (ending_) {
        return;
      }
      group_ = &group;
    }
    member.set_leave([this, &group] {
      group.abort();
      replica_.leave_group();
    });
    std::exception_ptr failure;
    try {
      meet_in(member, group, *next);
    } catch (const GroupBroken& /*why*/) {
      // The host knows who is gone.
    } catch (...) {
      failure = std::current_exception();
    }
    member.set_leave(nullptr);
    replica_.disconnected();
    {
      const std::lock_guard lock(mutex_);
      group_ = nullptr;
    }
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

void Gossip::share_with_newcomers(Member& member,
                                  GlooGroup& group,
                                  const protocol::Group& members) {
  const auto is_new = [&](WorkerId worker) {
    return std::ranges::find(members.newcomers, worker) != members.newcomers.end();
  };
  const bool centre = options_.averaging == Averaging::kElastic;
  const WorkerId has_it = *std::ranges::find_if_not(members.members, is_new);
  std::uint64_t applied = applied_;
  std::vector<float> weights = replica_.for_newcomer(centre);
  const auto keep = [&](Archive& archive) { archive("applied", applied)("weights", weights); };
  if (has_it == options_.worker) {
    for (const WorkerId newcomer : members.newcomers) {
      hand_over(group, rank_of(newcomer, members), keep);
    }
  } else if (is_new(options_.worker)) {
    take_over(group, rank_of(has_it, members), weights.size(), keep);
    replica_.begin_with(std::move(weights));
    applied_ = applied;
    member.has_everything();
  }
}

void Gossip::meet_in(Member& member, GlooGroup& group, const protocol::Group& members) {
  group.join();
  if (!members.newcomers.empty()) {
    share_with_newcomers(member, group, members);
  }
  replica_.connected();
  {
    const std::lock_guard lock(mutex_);
    begun_ = true;
    changed_.notify_all();
  }
  const peer::Place place{.rank = rank_of(options_.worker, members),
                          .size = static_cast<std::uint32_t>(members.members.size()),
                          .generation = members.generation};
  Meetings({.averaging = options_.averaging,
            .alpha = static_cast<float>(options_.elasticity / options_.batches.workers),
            .place = place,
            .format = options_.compression.format,
            .journal = options_.journal},
           peer::neighbours_in(place, options_.averaging, options_.graph, options_.seed),
           group,
           replica_)
      .run();
}

bool Gossip::wait_for_meeting(const Member& member) {
  while (!replica_.met_within(kLook)) {
    rethrow();
    if (member.stopping()) {
      return false;
    }
  }
  return true;
}

void Gossip::one_gradient(Member& member, std::uint64_t iteration) {
  replica_.copy_weights(before_);
  replica_.begin_gradient();
  std::optional<Member::Computing> computing(std::in_place, member);
  const Time start = member.now();
  const Time finish = pace_.finish(start, 1.0, iteration);
  if (finish > start) {
    member.sleep_until(finish);
  }
  if (member.stopping()) {
    return;
  }
  const auto begun = std::chrono::steady_clock::now();
  const protocol::Ranges ranges = next_examples();
  const std::vector<std::uint64_t> examples = order_.examples(ranges);
  source_.begin_epoch(ranges.front().epoch);
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
  const double runtime = to_seconds(member.now() - start);
  computing.reset();
  if (!wait_for_meeting(member)) {
    return;
  }
  applied_ += examples.size();
  ++gradients_;
  replica_.step([&](std::vector<float>& weights) {
    stepper_.step({.examples = examples.size(),
                   .nominal = options_.batches.batch,
                   // The others' counts are unknown here; this worker's stands in for them.
                   .applied = applied_.load() * options_.batches.workers},
                  gradient_,
                  weights);
  });
  member.report({.sequence = Sequence{iteration + 1},
                 .examples = static_cast<std::uint32_t>(examples.size()),
                 .loss = loss,
                 .compute_seconds = took,
                 .runtime = runtime,
                 .carried = replica_.take_carried()});
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

void Gossip::rethrow() {
  const std::lock_guard lock(mutex_);
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

}  // namespace outpace::collective
