#include "collective/ring.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/overloaded.h"
#include "collective/handover.h"
#include "update/gradient.h"

namespace outpace::collective {
namespace {

constexpr std::uint32_t kCatchUp = 1;  // The tag of a sum that is handed on.

// The sizes of the network's tensors, and one number more for the votes.
std::vector<std::size_t> sizes_with_votes(const worker::GradientSource& source) {
  std::vector<std::size_t> sizes = source.manifest().sizes();
  sizes.push_back(1);
  return sizes;
}

// The computing of a slowed worker: each part of it is delayed in proportion.
class Slowed {
 public:
  Slowed(Member& member, const worker::Pace& pace)
      : member_(member), pace_(pace), begun_(member.now()), resumed_(begun_) {}

  // Waits in proportion to the computing since the last call. The time that `aside` takes does not
  // count as computing.
  template <typename Aside>
  void part(Aside aside) {
    computed_ += to_seconds(member_.now() - resumed_);
    if (const double extra = pace_.extra_seconds(computed_); extra > 0.0) {
      member_.sleep_in_group_until(begun_ + from_seconds(computed_ + extra + besides_));
    }
    const Time before = member_.now();
    aside();
    resumed_ = member_.now();
    besides_ += to_seconds(resumed_ - before);
  }

  [[nodiscard]] double computed_seconds() const { return computed_; }

 private:
  Member& member_;
  const worker::Pace& pace_;
  const Time begun_;
  Time resumed_;
  double computed_ = 0.0;
  double besides_ = 0.0;  // Time that was neither computing nor waiting.
};

}  // namespace

Ring::Ring(const PeerOptions& options,
           std::vector<float> weights,
           GroupOptions joining,
           worker::GradientSource& source,
           const worker::Pace& pace)
    : options_(options),
      joining_(std::move(joining)),
      source_(source),
      pace_(pace),
      numbers_(weights.size()),
      peer_({.worker = options.worker,
             .batches = options.batches,
             .evaluate_every = options.evaluate_every},
            options.journal),
      order_(options.batches.examples, options.seed, options.with_replacement),
      stepper_(options.rule, source.manifest().sizes()),
      fill_(sizes_with_votes(source), options.bucket_bytes),
      weights_(std::move(weights)),
      sum_(numbers_ + 1),
      last_(numbers_ + 1),
      // Clipping needs the whole gradient first, so nothing overlaps.
      at_once_(options.clip_norm == 0.0) {
  if (options.compression.format.kind == compress::Kind::kNone) {
    return;
  }
  for (const worker::Bucket& bucket :
       worker::plan_buckets(sizes_with_votes(source), options.bucket_bytes)) {
    if (bucket.begin < numbers_) {
      packed_.try_emplace(
          bucket.begin, options.compression, std::min(bucket.end, numbers_) - bucket.begin);
    }
  }
}

void Ring::run(Member& member) {
  member.listen_by(joining_.links);
  while (true) {
    try {
      train(member, form(member));
      if (member.leave_unless_regrouped()) {
        return;
      }
    } catch (const GroupBroken& /*why*/) {
      // The host knows who is gone.
    }
    leave_group(member);
  }
}

protocol::Group Ring::form(Member& member) {
  protocol::Group next = member.next_group(version(), Member::Until::kOver).value();
  GroupOptions group = joining_;
  group.rank = rank_of(options_.worker, next);
  group.size = static_cast<std::uint32_t>(next.members.size());
  group.generation = next.generation;
  group.places = next.places;
  group.dead_link = member.silence_allowed();
  rank_ = group.rank;
  size_ = group.size;
  group_.emplace(std::move(group));
  member.set_leave([this] { group_->abort(); });
  group_->join();
  return next;
}

void Ring::leave_group(Member& member) {
  member.set_leave(nullptr);
  group_.reset();
  peer_.broken();
}

void Ring::train(Member& member, const protocol::Group& group) {
  peer::Ring::Actions actions = peer_.formed(group);
  while (!actions.empty()) {
    peer::Ring::Actions next;
    for (const peer::Ring::Action& action : actions) {
      std::visit(Overloaded{[&](const peer::Ring::HandOn& hand) {
                              group_->send(rank_of(hand.to, group), kCatchUp, last_);
                              carried_.add(numbers_, sizeof(float) * numbers_);
                            },
                            [&](const peer::Ring::CatchUp& with) {
                              group_->receive(rank_of(with.from, group), kCatchUp, last_);
                              next = summed();
                            },
                            [&](const peer::Ring::HandOver& all) {
                              hand_over(*group_, rank_of(all.to, group), [&](Archive& archive) {
                                peer::Ring::Come come = all.come;
                                keep(archive, come);
                              });
                            },
                            [&](const peer::Ring::TakeOver& all) {
                              peer::Ring::Come come;
                              take_over(*group_,
                                        rank_of(all.from, group),
                                        weights_.size(),
                                        [&](Archive& archive) { keep(archive, come); });
                              report_.reset();
                              member.has_everything();
                              next = peer_.took(come);
                            },
                            [&](const peer::Ring::Compute& term) {
                              compute(member, term.update, term.sequence);
                              group_->wait_for_sums();
                              std::swap(sum_, last_);
                              next = summed();
                            },
                            [&](const peer::Ring::Apply& step) { apply(member, step); },
                            Ignoring<peer::Ring::Finish>{}},
                 action);
    }
    actions = std::move(next);
  }
}

void Ring::keep(Archive& archive, peer::Ring::Come& come) {
  archive("updates", come.made.updates)("gradients", come.made.gradients);
  archive("examples", come.made.examples)("ended", come.ended);
  // The newest sum, too: others may have yet to apply it.
  archive("weights", weights_)("sum", last_);
  archive.group("optimizer", [&] { stepper_.keep(archive); });
}

peer::Ring::Actions Ring::summed() {
  return peer_.summed(/*votes=*/last_[numbers_] > 0.0F);
}

void Ring::apply(Member& member, const peer::Ring::Apply& step) {
  const std::span<const float> mean = std::span(last_).first(numbers_);
  if (!std::isfinite(update::squared_norm(mean))) {
    throw Error(ExitCode::kFailure,
                "the gradient of update " + std::to_string(count(step.version)) +
                    " is not finite: training has diverged; try a smaller --lr");
  }
  const std::uint64_t nominal = std::uint64_t{options_.batches.batch} * options_.batches.workers;
  stepper_.step(
      {.examples = step.examples, .nominal = nominal, .applied = step.applied}, mean, weights_);
  for (auto& [begin, sum] : packed_) {
    sum.accepted();
  }
  if (report_) {
    report_->carried = std::exchange(carried_, {});
    member.report(*report_);
    report_.reset();
  }
  if (step.brings) {
    member.bring(step.version, weights_);
  }
}

void Ring::compute(Member& member, const peer::BatchPlan::Update& update, Sequence sequence) {
  const Member::Computing computing(member);
  const Time start = member.now();
  if (update.own_examples > 0) {
    const double share = static_cast<double>(update.own_examples) / options_.batches.batch;
    const Time finish = pace_.finish(start, share, number(sequence) - 1);
    if (finish > start) {
      member.sleep_in_group_until(finish);
    }
  }
  report_.reset();
  sum_[numbers_] = member.stopping() ? 1.0F : 0.0F;
  share_ = static_cast<float>(static_cast<double>(update.own_examples) /
                              static_cast<double>(update.examples));
  fill_.restart();
  held_.clear();
  for (auto& [begin, sum] : packed_) {
    sum.given_up();  // That of an update which is made again; else there is nothing to give up.
  }
  const std::size_t tensors = source_.manifest().tensors.size();
  tensor_ready(tensors);  // The votes.
  const std::span<float> gradient = std::span(sum_).first(numbers_);
  if (update.own_examples == 0) {
    std::ranges::fill(gradient, 0.0F);
    for (std::size_t tensor = 0; tensor < tensors; ++tensor) {
      tensor_ready(tensor);
    }
  } else {
    const std::vector<std::uint64_t> examples = order_.examples(update.own);
    source_.begin_epoch(update.own.front().epoch);
    Slowed slowed(member, pace_);
    const double loss =
        source_.compute_in_parts(weights_, examples, gradient, [&](std::size_t tensor) {
          slowed.part([&] { tensor_ready(tensor); });
        });
    slowed.part([] {});
    if (options_.clip_norm > 0.0) {
      const double squared = update::squared_norm(gradient);
      if (std::isfinite(squared)) {  // Otherwise the sum is not finite either.
        (void)update::clip(gradient, squared, options_.clip_norm);
      }
    }
    report_ = {.sequence = sequence,
               .examples = update.own_examples,
               .loss = loss,
               .compute_seconds = slowed.computed_seconds(),
               .runtime = to_seconds(member.now() - start)};
  }
  for (const worker::Bucket& bucket : held_) {
    send(bucket);
  }
}

void Ring::tensor_ready(std::size_t tensor) {
  for (const worker::Bucket& bucket : fill_.add(tensor)) {
    if (at_once_) {
      send(bucket);
    } else {
      held_.push_back(bucket);
    }
  }
}

void Ring::send(const worker::Bucket& bucket) {
  const std::span<float> part = std::span(sum_).subspan(bucket.begin, bucket.end - bucket.begin);
  const std::size_t weighed = std::min(bucket.end, numbers_) - std::min(bucket.begin, numbers_);
  const std::span<float> gradient = part.first(weighed);
  for (float& number : gradient) {
    number *= share_;
  }
  if (weighed > 0) {
    carried_ = carried_ + carried_by_sum(options_.compression.format, weighed, rank_, size_);
  }
  const auto packed = packed_.find(bucket.begin);
  if (packed == packed_.end()) {
    return group_->begin_sum(part);
  }
  // The votes must be exact.
  const PackedSum::Terms terms{.numbers = gradient, .exact = part.subspan(weighed)};
  group_->begin([&sum = packed->second, terms, rank = rank_, size = size_](const Swap& swap) {
    sum.sum(terms, rank, size, swap);
  });
}

}  // namespace outpace::collective
