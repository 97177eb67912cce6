// Workers that are told the examples of their next releases, so that they can load them.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/switch.h"
#include "server/coordinator.h"

namespace outpace::server {
namespace {

constexpr std::uint32_t kWorkers = 3;
constexpr std::uint32_t kAhead = 4;

class Prefetching : public testing::Test {
 protected:
  void begin(std::uint64_t examples, std::uint64_t epochs) {
    options_ = {
        .workers = kWorkers, .batch = 4, .examples = examples, .limits = {.epochs = epochs}};
    coordinator_ = std::make_unique<Coordinator>(
        options_,
        std::make_unique<policy::Switch>(Spec::parse("async"), kWorkers),
        [](Time, const policy::Event&, const policy::Decision&) {},
        Time{});
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      join(worker);
    }
  }
  void join(std::uint32_t worker) {
    Effects effects;
    EXPECT_TRUE(coordinator_->join(
        Time{},
        {.worker = WorkerId{worker}, .incarnation = ++incarnation_[worker], .ahead = kAhead},
        effects));
    note(effects);
  }
  void die(std::uint32_t worker) {
    Effects effects;
    open_[worker].reset();
    coordinator_->leave(
        Time{}, WorkerId{worker}, incarnation_[worker], policy::Departure::kDead, effects);
    note(effects);
  }
  void push(std::uint32_t worker) {
    const protocol::Release release = *std::exchange(open_[worker], std::nullopt);
    Effects effects;
    coordinator_->push(Time{},
                       {.id = {.job = options_.job,
                               .generation = options_.generation,
                               .worker = WorkerId{worker},
                               .incarnation = incarnation_[worker],
                               .sequence = release.sequence},
                        .examples = static_cast<std::uint32_t>(total_size(release.ranges)),
                        .partial = false,
                        .loss = 1.0,
                        .compute_seconds = 0.0},
                       update::Judgement::kSound,
                       effects);
    note(effects);
  }
  void note(const Effects& effects) {
    for (const Effect& effect : effects) {
      const auto* send = std::get_if<Send>(&effect);
      const auto* release = send ? std::get_if<protocol::Release>(&send->message) : nullptr;
      if (release != nullptr) {
        const std::size_t worker = index(send->worker);
        kept_ += told_[worker].empty() || told_[worker].front() == release->ranges ? 1 : 0;
        ++releases_;
        told_[worker] = release->ahead;
        open_[worker] = *release;
      }
    }
  }

  CoordinatorOptions options_;
  std::unique_ptr<Coordinator> coordinator_;
  std::vector<std::uint32_t> incarnation_ = std::vector<std::uint32_t>(kWorkers);
  std::vector<std::optional<protocol::Release>> open_{kWorkers};
  std::vector<std::vector<protocol::Ranges>> told_{kWorkers};
  int kept_ = 0;  // Releases that were as told.
  int releases_ = 0;
};

TEST_F(Prefetching, AReleaseHasTheExamplesThatWereTold) {
  begin(/*examples=*/1000, /*epochs=*/0);
  EXPECT_EQ(open_[0]->ahead.size(), kAhead);
  const std::vector<protocol::Ranges> told = open_[0]->ahead;
  for (std::uint32_t i = 0; i < kAhead; ++i) {
    push(1);
    push(0);
    EXPECT_EQ(open_[0]->ranges, told[i]) << i;
    EXPECT_EQ(open_[0]->ahead.size(), kAhead);
  }
}

TEST_F(Prefetching, ADeadWorkersExamplesGoToOthers) {
  begin(/*examples=*/1000, /*epochs=*/0);
  const protocol::Range lost = open_[0]->ahead.back().front();
  die(0);
  bool seen = false;
  for (int i = 0; i < 20 && !seen; ++i) {
    push(1);
    seen = std::ranges::any_of(open_[1]->ahead, [&](const protocol::Ranges& later) {
      return later.front().begin == lost.begin;
    });
  }
  EXPECT_TRUE(seen);
}

TEST_F(Prefetching, EveryExampleCountsOnceWhateverDiesAndNobodyIdlesAtTheEnd) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, 0);
    open_.assign(kWorkers, std::nullopt);
    told_.assign(kWorkers, {});
    incarnation_.assign(kWorkers, 0);
    begin(/*examples=*/1 + rng.below(90), /*epochs=*/1 + rng.below(3));
    for (int turn = 0; turn < 4000 && !coordinator_->finished(); ++turn) {
      const auto worker = static_cast<std::uint32_t>(rng.below(kWorkers));
      if (open_[worker] && rng.below(20) == 0) {
        die(worker);
        told_[worker].clear();
        join(worker);
      } else if (open_[worker]) {
        push(worker);
      }
    }
    ASSERT_TRUE(coordinator_->finished());
    EXPECT_EQ(coordinator_->statistics().examples_applied,
              options_.examples * options_.limits.epochs);
    EXPECT_EQ(coordinator_->statistics().examples_used_per_epoch_max, 1U);
  }
  EXPECT_GT(kept_, releases_ * 3 / 4);
}

}  // namespace
}  // namespace outpace::server
