#include <algorithm>

#include <gtest/gtest.h>

#include "policy/catalogue.h"
#include "server/coordinator.h"

namespace outpace::server {
namespace {

using protocol::Range;
using protocol::Ranges;

// The workers of one machine.
class Machine {
 public:
  explicit Machine(std::uint32_t workers, const std::string& policy = "sync")
      : coordinator_({.workers = workers, .batch = 1, .examples = 1000, .fed = true},
                     policy::make_policy(Spec::parse(policy), workers),
                     nullptr,
                     Time{}) {
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      EXPECT_TRUE(coordinator_.join(now_, {.worker = WorkerId{worker}}, effects_));
    }
    take();
  }

  void feed(Ranges ranges, std::uint64_t version = 0, std::uint32_t nominal = 4) {
    coordinator_.feed(
        now_, {.version = Version{version}, .nominal = nominal, .ranges = ranges}, effects_);
    take();
  }
  void close(bool keep_part) {
    coordinator_.close_feed(now_, keep_part, effects_);
    take();
  }
  // Pushes the first `part` examples of its release, or all.
  void push(std::uint32_t worker, std::uint32_t part = 0) {
    const protocol::Release& release = releases.at(worker);
    const auto whole = static_cast<std::uint32_t>(total_size(release.ranges));
    coordinator_.push(now_,
                      {.id = id(worker),
                       .examples = part == 0 ? whole : part,
                       .partial = part != 0,
                       .loss = worker + 1.0,
                       .compute_seconds = 0.0},
                      update::Judgement::kSound,
                      effects_);
    take();
  }
  void abandon(std::uint32_t worker) {
    coordinator_.abandon(now_, {.id = id(worker)}, effects_);
    take();
  }
  void die(std::uint32_t worker) {
    coordinator_.leave(now_, WorkerId{worker}, 1, policy::Departure::kDead, effects_);
    take();
  }
  void join(std::uint32_t worker, std::uint32_t incarnation) {
    EXPECT_TRUE(coordinator_.join(
        now_, {.worker = WorkerId{worker}, .incarnation = incarnation}, effects_));
    take();
  }

  [[nodiscard]] bool dry() const { return coordinator_.feed_is_dry(); }

  // What the last call led to:
  std::map<std::uint32_t, protocol::Release> released;
  std::map<std::uint32_t, protocol::Verdict> verdicts;
  std::map<std::uint32_t, bool> cancelled;  // Keep a part?
  std::vector<HandIn> handed_in;
  // Each worker's last one:
  std::map<std::uint32_t, protocol::Release> releases;

 private:
  [[nodiscard]] protocol::GradientId id(std::uint32_t worker) const {
    return {.job = 1,
            .generation = 1,
            .worker = WorkerId{worker},
            .incarnation = 1,
            .sequence = releases.at(worker).sequence};
  }

  void take() {
    released.clear();
    verdicts.clear();
    cancelled.clear();
    handed_in.clear();
    for (const Effect& effect : effects_) {
      if (const auto* handed = std::get_if<HandIn>(&effect)) {
        handed_in.push_back(*handed);
      }
      EXPECT_FALSE(std::holds_alternative<StepWeights>(effect));
      EXPECT_FALSE(std::holds_alternative<Finish>(effect));
      const auto* send = std::get_if<Send>(&effect);
      if (send == nullptr) {
        continue;
      }
      const auto worker = static_cast<std::uint32_t>(index(send->worker));
      if (const auto* release = std::get_if<protocol::Release>(&send->message)) {
        released[worker] = releases[worker] = *release;
      } else if (const auto* verdict = std::get_if<protocol::Verdict>(&send->message)) {
        verdicts[worker] = *verdict;
      } else {
        cancelled[worker] = std::get<protocol::Cancel>(send->message).keep_part;
      }
    }
    effects_.clear();
  }

  const Time now_{};
  Coordinator coordinator_;
  Effects effects_;
};

TEST(CoordinatorFed, ReleasesNobodyBeforeItIsFed) {
  Machine machine(2);
  EXPECT_TRUE(machine.released.empty());
  EXPECT_FALSE(machine.dry());
}

TEST(CoordinatorFed, DividesAReleaseAndHandsItInAsOne) {
  Machine machine(2);
  machine.feed({{0, 100, 108}}, 7);
  ASSERT_EQ(machine.released.size(), 2U);
  EXPECT_EQ(machine.released[0].ranges, (Ranges{{0, 100, 104}}));
  EXPECT_EQ(machine.released[1].ranges, (Ranges{{0, 104, 108}}));
  EXPECT_EQ(machine.released[1].version, Version{7});
  EXPECT_EQ(machine.released[1].nominal, 4U);
  machine.push(1);
  EXPECT_TRUE(machine.handed_in.empty());
  machine.push(0);
  ASSERT_EQ(machine.handed_in.size(), 1U);
  EXPECT_EQ(machine.handed_in[0].covers, (Ranges{{0, 104, 108}, {0, 100, 104}}));
  EXPECT_EQ(machine.handed_in[0].examples, 8U);
  EXPECT_EQ(machine.handed_in[0].gradients, 2U);
  EXPECT_DOUBLE_EQ(machine.handed_in[0].loss.value_or(0.0), 1.5);
  EXPECT_TRUE(machine.released.empty()) << "until the server above has answered";
  machine.feed({{0, 200, 208}}, 8);
  EXPECT_EQ(machine.released.size(), 2U);
}

TEST(CoordinatorFed, HandsInWithoutAWorkerThatDied) {
  Machine machine(3);
  machine.feed({{0, 0, 12}});
  machine.push(0);
  machine.push(2);
  machine.die(1);
  ASSERT_EQ(machine.handed_in.size(), 1U);
  EXPECT_EQ(machine.handed_in[0].covers, (Ranges{{0, 0, 4}, {0, 8, 12}}));
  machine.feed({{0, 12, 24}}, 1);
  EXPECT_EQ(machine.released.size(), 2U);
  machine.push(0);
  machine.push(2);
  ASSERT_EQ(machine.handed_in.size(), 1U);
  EXPECT_EQ(machine.handed_in[0].examples, 8U) << "the rest goes back";
}

TEST(CoordinatorFed, ReleasesAWorkerThatComesLater) {
  Machine machine(2);
  machine.die(1);
  machine.feed({{0, 0, 8}});
  EXPECT_EQ(machine.released.size(), 1U);
  machine.join(1, 2);
  EXPECT_EQ(machine.released[1].ranges, (Ranges{{0, 4, 8}}));
}

TEST(CoordinatorFed, AWorkerThatFindsNothingIsNotAwaited) {
  Machine machine(3);
  machine.feed({{0, 0, 6}});
  EXPECT_EQ(machine.released.size(), 2U);
  EXPECT_EQ(machine.released[1].ranges, (Ranges{{0, 4, 6}}));
  machine.push(0);
  machine.push(1);
  ASSERT_EQ(machine.handed_in.size(), 1U);
  machine.feed({{0, 6, 18}}, 1);
  EXPECT_EQ(machine.released.size(), 3U);
}

TEST(CoordinatorFed, DoesNotReleaseTheLastExampleAlone) {
  Machine machine(2);
  machine.feed({{0, 0, 5}});
  ASSERT_EQ(machine.released.size(), 1U);
  EXPECT_EQ(machine.released[0].ranges, (Ranges{{0, 0, 5}}));
}

TEST(CoordinatorFed, APolicyOfItsOwnCutsOff) {
  Machine machine(3, "backup:cutoff=2");
  machine.feed({{0, 0, 12}});
  machine.push(0);
  machine.push(2);
  ASSERT_EQ(machine.handed_in.size(), 1U);
  EXPECT_EQ(machine.handed_in[0].covers, (Ranges{{0, 0, 4}, {0, 8, 12}}));
  EXPECT_EQ(machine.cancelled, (std::map<std::uint32_t, bool>{{1, false}}));
  machine.feed({{0, 4, 8}, {0, 12, 20}}, 1);
  EXPECT_EQ(machine.released.size(), 2U);
  machine.push(1);  // It had crossed the cancel: of the release before, whose examples went back.
  EXPECT_EQ(machine.verdicts.at(1).outcome, protocol::Outcome::kDropped);
  EXPECT_EQ(machine.released.at(1).ranges, (Ranges{{0, 16, 20}}));
  EXPECT_TRUE(machine.handed_in.empty());
}

TEST(CoordinatorFed, HandsInThePartsThatAreThere) {
  Machine machine(3);
  machine.feed({{0, 0, 12}});
  machine.push(0);
  machine.close(/*keep_part=*/true);
  EXPECT_EQ(machine.cancelled, (std::map<std::uint32_t, bool>{{1, true}, {2, true}}));
  machine.push(1, 3);
  EXPECT_TRUE(machine.released.empty());
  machine.abandon(2);
  ASSERT_EQ(machine.handed_in.size(), 1U);
  EXPECT_EQ(machine.handed_in[0].covers, (Ranges{{0, 0, 4}, {0, 4, 7}}));
  EXPECT_TRUE(machine.released.empty());
  machine.feed({{0, 7, 19}}, 1);
  EXPECT_EQ(machine.released.size(), 3U);
}

TEST(CoordinatorFed, IsDryWhenNobodyHasAPart) {
  Machine machine(2);
  machine.feed({{0, 0, 8}});
  machine.close(/*keep_part=*/true);
  EXPECT_FALSE(machine.dry());
  machine.abandon(0);
  machine.abandon(1);
  EXPECT_TRUE(machine.handed_in.empty());
  EXPECT_TRUE(machine.dry());
}

TEST(CoordinatorFed, HandsInPartsAfterAReleaseOfWhichNothingCame) {
  Machine machine(2);
  machine.feed({{0, 0, 8}});
  machine.close(/*keep_part=*/true);
  machine.abandon(0);
  machine.abandon(1);
  machine.close(/*keep_part=*/false);
  machine.feed({{0, 0, 8}}, 1);
  ASSERT_EQ(machine.released.size(), 2U);
  machine.close(/*keep_part=*/true);
  machine.push(0, 1);
  machine.push(1, 2);
  ASSERT_EQ(machine.handed_in.size(), 1U);
  EXPECT_EQ(machine.handed_in[0].covers, (Ranges{{0, 0, 1}, {0, 4, 6}}));
}

TEST(CoordinatorFed, NothingOfAReleaseThatWasWithdrawnCounts) {
  Machine machine(3);
  machine.feed({{0, 0, 12}});
  machine.push(0);
  machine.close(/*keep_part=*/false);
  EXPECT_EQ(machine.cancelled.size(), 2U);
  machine.feed({{0, 0, 12}}, 1);  // To the same machine again.
  machine.push(1);                // It answers the release that was withdrawn.
  EXPECT_EQ(machine.verdicts.at(1).outcome, protocol::Outcome::kDropped);
  EXPECT_TRUE(machine.handed_in.empty());
  ASSERT_EQ(machine.released.count(1), 1U);
  machine.abandon(2);
  ASSERT_EQ(machine.released.count(2), 1U);
  machine.push(1);
  machine.push(2);
  ASSERT_EQ(machine.handed_in.size(), 1U);
  EXPECT_EQ(machine.handed_in[0].covers, (Ranges{{0, 0, 4}, {0, 4, 8}}));
  machine.feed({{0, 8, 20}}, 2);
  EXPECT_EQ(machine.released.size(), 3U);
}

// A policy that waits until a time of its own counts that time from the release on.
TEST(CoordinatorFed, TheClockStandsStillBetweenFeeds) {
  using std::chrono::seconds;
  Coordinator coordinator({.workers = 1, .batch = 1, .examples = 10, .fed = true},
                          policy::make_policy(Spec::parse("sync"), 1),
                          nullptr,
                          Time{});
  Effects effects;
  ASSERT_TRUE(coordinator.join(Time{seconds(1)}, {.worker = WorkerId{0}}, effects));
  EXPECT_EQ(coordinator.run_time(Time{seconds(5)}), Time{});
  coordinator.feed(Time{seconds(6)}, {.version = Version{0}, .ranges = {{0, 0, 1}}}, effects);
  EXPECT_EQ(coordinator.run_time(Time{seconds(8)}), Time{seconds(2)});
  coordinator.push(Time{seconds(9)},
                   {.id = {.job = 1,
                           .generation = 1,
                           .worker = WorkerId{0},
                           .incarnation = 1,
                           .sequence = Sequence{1}},
                    .examples = 1,
                    .partial = false,
                    .compute_seconds = 0.0},
                   update::Judgement::kSound,
                   effects);
  ASSERT_TRUE(std::ranges::any_of(
      effects, [](const Effect& effect) { return std::holds_alternative<HandIn>(effect); }));
  EXPECT_EQ(coordinator.run_time(Time{seconds(20)}), Time{seconds(3)});
  coordinator.feed(Time{seconds(30)}, {.version = Version{1}, .ranges = {{0, 1, 2}}}, effects);
  EXPECT_EQ(coordinator.run_time(Time{seconds(31)}), Time{seconds(4)});
  const auto& release = std::get<protocol::Release>(std::get<Send>(effects.back()).message);
  EXPECT_EQ(release.now, Time{seconds(3)});
}

TEST(CoordinatorFed, IsDryWhenAllHaveDied) {
  Machine machine(1);
  machine.feed({{0, 0, 4}});
  machine.die(0);
  EXPECT_TRUE(machine.handed_in.empty());
  EXPECT_TRUE(machine.dry());
}

// ---- The server above -------------------------------------------------------------------------

class ServerAbove : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(coordinator_.join(Time{}, {.worker = WorkerId{0}, .stands_for = 3}, effects_));
    ASSERT_TRUE(coordinator_.join(Time{}, {.worker = WorkerId{1}}, effects_));
  }
  [[nodiscard]] protocol::Release released(std::uint32_t worker) const {
    protocol::Release found{};
    for (const Effect& effect : effects_) {
      const auto* send = std::get_if<Send>(&effect);
      if (send != nullptr && send->worker == WorkerId{worker} &&
          std::holds_alternative<protocol::Release>(send->message)) {
        found = std::get<protocol::Release>(send->message);
      }
    }
    return found;
  }
  void push(std::uint32_t worker, protocol::Ranges covers, std::uint32_t stands_for = 0) {
    const protocol::Release release = released(worker);
    const protocol::Ranges& of = covers.empty() ? release.ranges : covers;
    coordinator_.push(Time{},
                      {.id = {.job = 1,
                              .generation = 1,
                              .worker = WorkerId{worker},
                              .incarnation = 1,
                              .sequence = release.sequence},
                       .examples = static_cast<std::uint32_t>(total_size(of)),
                       .partial = total_size(of) < total_size(release.ranges),
                       .compute_seconds = 0.0,
                       .covers = covers,
                       .stands_for = stands_for},
                      update::Judgement::kSound,
                      effects_);
  }

  Coordinator coordinator_{{.workers = 2, .batch = 4, .examples = 16, .limits = {.epochs = 1}},
                           policy::make_policy(Spec::parse("sync"), 2),
                           nullptr,
                           Time{}};
  Effects effects_;
};

TEST_F(ServerAbove, LeasesAMiniBatchForEachThatAWorkerStandsFor) {
  EXPECT_EQ(released(0).ranges, (Ranges{{0, 0, 12}}));
  EXPECT_EQ(released(0).nominal, 4U);
  EXPECT_EQ(released(1).ranges, (Ranges{{0, 12, 16}}));
}

TEST_F(ServerAbove, UsesTheExamplesThatAPushCoversAndLeasesTheOthersAgain) {
  push(0, {{0, 8, 12}, {0, 0, 4}}, 2);
  push(1, {});
  EXPECT_EQ(coordinator_.statistics().examples_applied, 12U);
  EXPECT_FALSE(coordinator_.finished());
  const std::uint32_t next = released(0).ranges == Ranges{{0, 4, 8}} ? 0U : 1U;
  EXPECT_EQ(released(next).ranges, (Ranges{{0, 4, 8}}));
  push(next, {});
  EXPECT_TRUE(coordinator_.finished());
  EXPECT_EQ(coordinator_.statistics().examples_applied, 16U);
  EXPECT_EQ(coordinator_.statistics().examples_used_per_epoch_min, 1U);
  EXPECT_EQ(coordinator_.statistics().examples_used_per_epoch_max, 1U);
}

TEST_F(ServerAbove, SendsAWorkerAwayThatCoversWhatItWasNotLeased) {
  push(0, {{0, 8, 13}});
  EXPECT_TRUE(std::ranges::any_of(
      effects_, [](const Effect& effect) { return std::holds_alternative<Disconnect>(effect); }));
  EXPECT_EQ(coordinator_.live(), 1U);
}

TEST_F(ServerAbove, SendsAWorkerAwayThatCoversAnExampleTwice) {
  push(0, {{0, 0, 4}, {0, 2, 6}});
  EXPECT_EQ(coordinator_.live(), 1U);
}

}  // namespace
}  // namespace outpace::server
