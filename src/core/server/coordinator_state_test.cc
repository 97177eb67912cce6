// A coordinator that is kept and read again goes on as the first does when all workers have come
// anew: the weights and the uses of each example are those of a run without a break.

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/kept_test.h"
#include "base/overloaded.h"
#include "policy/catalogue.h"
#include "server/coordinator.h"
#include "server/driver.h"
#include "server/shard.h"

namespace outpace::server {
namespace {

constexpr std::uint32_t kAnswering = 3;
constexpr std::uint64_t kLeased = 50;

// Workers that answer in turn, with a gradient that depends on the weights and the examples.
class StateRun {
 public:
  StateRun(const std::string& policy, const std::string& optimizer, std::uint32_t generation)
      : coordinator_({.generation = generation,
                      .workers = kAnswering,
                      .batch = 4,
                      .examples = kLeased,
                      .limits = {.epochs = 3},
                      .rate = 0.05,
                      .checkpoint_every = {.updates = 5}},
                     policy::make_policy(Spec::parse(policy), kAnswering),
                     nullptr,
                     Time{}),
        shard_({.optimizer = Spec::parse(optimizer)}, {1.0F, -2.0F, 0.5F}) {}

  void join_all() {
    for (std::uint32_t worker = 0; worker < kAnswering; ++worker) {
      Effects effects;
      ASSERT_TRUE(coordinator_.join(
          now_, {.worker = WorkerId{worker}, .incarnation = ++incarnation_}, effects));
      carry_out(effects);
    }
  }

  // Until the run is over, or `updates` updates are done.
  void go_on(std::uint64_t updates = UINT64_MAX) {
    for (std::uint32_t turn = 0; !finished_ && count(coordinator_.version()) < updates; ++turn) {
      const WorkerId worker{turn % kAnswering};
      const auto open = open_.find(worker);
      if (open == open_.end()) {
        continue;
      }
      const protocol::Release release = open->second.release;
      const std::vector<float> gradient = gradient_of(open->second);
      open_.erase(open);
      now_ += from_seconds(0.1);
      push(worker, release, gradient);
    }
  }

  void keep(Archive& archive) {
    archive.group("coordinator", [&] { coordinator_.keep(now_, archive); });
    archive.group("shard", [&] { shard_.keep(archive); });
  }

  [[nodiscard]] std::vector<float> weights() const {
    return {shard_.weights().begin(), shard_.weights().end()};
  }
  [[nodiscard]] const Coordinator& coordinator() const { return coordinator_; }
  [[nodiscard]] const std::vector<std::uint64_t>& checkpoints() const { return checkpoints_; }
  void set_incarnation(std::uint32_t incarnation) { incarnation_ = incarnation; }

  void push(WorkerId worker, const protocol::Release& release, std::vector<float> gradient) {
    const protocol::Push pushed{.id = {.job = 1,
                                       .generation = coordinator_.options().generation,
                                       .worker = worker,
                                       .incarnation = of_[worker],
                                       .sequence = release.sequence},
                                .examples = static_cast<std::uint32_t>(total_size(release.ranges)),
                                .partial = false,
                                .loss = 1.0,
                                .compute_seconds = 0.1};
    Effects effects;
    const auto judgement = receive(shard_, coordinator_, pushed, std::move(gradient));
    coordinator_.push(now_, pushed, judgement, effects);
    carry_out(effects);
  }

 private:
  struct Open {
    protocol::Release release;
    std::vector<float> weights;
  };

  static std::vector<float> gradient_of(const Open& open) {
    std::vector<float> gradient = open.weights;
    for (const protocol::Range& range : open.release.ranges) {
      gradient[range.begin % gradient.size()] += static_cast<float>(range.end) * 0.01F;
    }
    return gradient;
  }

  void carry_out(Effects& effects) {
    server::carry_out(
        effects,
        &shard_,
        Overloaded{[&](const Send& sent) {
                     if (const auto* release = std::get_if<protocol::Release>(&sent.message)) {
                       open_[sent.worker] = {*release, weights()};
                       of_[sent.worker] = incarnation_of(sent.worker);
                     }
                   },
                   [&](const TakeCheckpoint& due) { checkpoints_.push_back(count(due.version)); },
                   [&](const Finish& /*finish*/) { finished_ = true; },
                   Ignoring<Disconnect,
                            TakeSnapshot,
                            Stalled,
                            Switched,
                            HandIn,
                            LeaveOut,
                            Warn,
                            MeasuredNorms>{}});
  }
  [[nodiscard]] std::uint32_t incarnation_of(WorkerId worker) const {
    return incarnation_ - (kAnswering - 1) + static_cast<std::uint32_t>(index(worker));
  }

  Coordinator coordinator_;
  Shard shard_;
  Time now_{};
  std::uint32_t incarnation_ = 0;
  std::map<WorkerId, Open> open_;
  std::map<WorkerId, std::uint32_t> of_;
  std::vector<std::uint64_t> checkpoints_;
  bool finished_ = false;
};

void expect_same_after_a_break(const std::string& optimizer, std::uint64_t at) {
  SCOPED_TRACE(optimizer + " at " + std::to_string(at));
  StateRun whole("sync", optimizer, 1);
  whole.join_all();
  whole.go_on();
  StateRun broken("sync", optimizer, 1);
  broken.join_all();
  broken.go_on(at);
  StateRun resumed("sync", optimizer, 2);
  copy_kept(broken, resumed);
  resumed.set_incarnation(100);
  resumed.join_all();
  resumed.go_on();
  EXPECT_EQ(whole.weights(), resumed.weights());
  const Statistics& statistics = resumed.coordinator().statistics();
  EXPECT_EQ(statistics.updates, whole.coordinator().statistics().updates);
  EXPECT_EQ(statistics.epochs_complete, 3U);
  EXPECT_EQ(statistics.examples_used_per_epoch_min, 1U);
  EXPECT_EQ(statistics.examples_used_per_epoch_max, 1U);
}

// The release that the only worker of a coordinator computes.
protocol::GradientId open_of(const Effects& effects, const Coordinator& coordinator) {
  Sequence sequence{};
  for (const Effect& effect : effects) {
    const auto* sent = std::get_if<Send>(&effect);
    const auto* release =
        sent != nullptr ? std::get_if<protocol::Release>(&sent->message) : nullptr;
    sequence = release != nullptr ? release->sequence : sequence;
  }
  return {.job = coordinator.options().job,
          .generation = coordinator.options().generation,
          .worker = WorkerId{0},
          .incarnation = 1,
          .sequence = sequence};
}

TEST(KeptCoordinator, GivesTheWeightsOfARunWithoutABreakToTheBit) {
  for (const std::string optimizer : {"sgd",
                                      "momentum",
                                      "nesterov",
                                      "adam",
                                      "lamb",
                                      "rmsprop:mu=0.9,centered=yes",
                                      "adagrad:lr_decay=0.1",
                                      "adadelta"}) {
    expect_same_after_a_break(optimizer, 1);
    expect_same_after_a_break(optimizer, 4);
    expect_same_after_a_break(optimizer, 9);
  }
}

TEST(KeptCoordinator, CountsEveryExampleOnceUnderAnyPolicy) {
  for (const std::string policy : {"async",
                                   "softsync:n=1",
                                   "ssp:s=1",
                                   "backup:cutoff=2",
                                   "saps:s=2,action=refresh",
                                   "dynamic:model=last"}) {
    SCOPED_TRACE(policy);
    StateRun broken(policy, "sgd", 1);
    broken.join_all();
    broken.go_on(7);
    StateRun resumed(policy, "sgd", 2);
    copy_kept(broken, resumed);
    resumed.set_incarnation(100);
    resumed.join_all();
    resumed.go_on();
    const Statistics& statistics = resumed.coordinator().statistics();
    EXPECT_EQ(statistics.epochs_complete, 3U);
    EXPECT_EQ(statistics.examples_applied, 3 * kLeased);
    EXPECT_EQ(statistics.examples_used_per_epoch_max, 1U);
  }
}

TEST(KeptCoordinator, GoesOnUnderTheRuleOfThePolicyInForce) {
  const auto make = [] {
    return Coordinator(
        {.workers = 1, .batch = 4, .examples = kLeased, .policy = Spec::parse("sync")},
        policy::make_settable_policy(Spec::parse("sync"), 1),
        nullptr,
        Time{});
  };
  Coordinator broken = make();
  Effects effects;
  ASSERT_TRUE(broken.join(Time{}, {.worker = WorkerId{0}}, effects));
  broken.set_policy(Time{}, "switch(async until updates>9 then ssp:s=1)", effects);
  EXPECT_EQ(broken.staleness().name(), "none");  // It computes for sync still.
  broken.abandon(Time{}, {open_of(effects, broken)}, effects);
  EXPECT_EQ(broken.staleness().name(), "share");
  Coordinator resumed = make();
  MemoryArchive tape;
  broken.keep(Time{}, tape);
  tape.rewind();
  resumed.keep(Time{}, tape);
  EXPECT_EQ(resumed.staleness().name(), "share");
}

TEST(KeptCoordinator, AsksForACheckpointAtTheStartAndEverySoManyUpdates) {
  StateRun run("async", "sgd", 1);
  run.join_all();
  run.go_on(12);
  EXPECT_EQ(run.checkpoints(), (std::vector<std::uint64_t>{0, 5, 10}));
}

TEST(KeptCoordinator, IsNotReadForAnotherDataSet) {
  StateRun run("sync", "sgd", 1);
  run.join_all();
  MemoryArchive tape;
  run.keep(tape);
  tape.rewind();
  Coordinator other({.workers = kAnswering, .examples = kLeased + 1},
                    policy::make_policy(Spec::parse("sync"), kAnswering),
                    nullptr,
                    Time{});
  EXPECT_THROW(tape.group("coordinator", [&] { other.keep(Time{}, tape); }), Error);
}

}  // namespace
}  // namespace outpace::server
