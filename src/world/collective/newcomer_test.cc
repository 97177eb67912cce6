// A worker that is lost comes back to a ring, or a gossip, that goes on.

#include <atomic>
#include <latch>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "collective/gossip.h"
#include "collective/handover.h"
#include "collective/links_test.h"
#include "collective/ring.h"
#include "collective/run_test.h"

namespace outpace::collective {
namespace {

constexpr std::uint32_t kThree = 3;

// A worker that dies in one of its mini-batches, and never if that is 0.
struct HasDied {};
class DyingSource final : public worker::GradientSource {
 public:
  explicit DyingSource(std::uint64_t dies_at) : dies_at_(dies_at) {}
  [[nodiscard]] const protocol::Manifest& manifest() const override { return source_.manifest(); }
  [[nodiscard]] std::uint64_t dataset_examples() const override {
    return source_.dataset_examples();
  }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return source_.initial_weights();
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& cancelled) override {
    if (++computed_ == dies_at_) {
      throw HasDied{};
    }
    return source_.compute(weights, examples, gradient, cancelled);
  }

 private:
  Distances source_;
  const std::uint64_t dies_at_;
  std::uint64_t computed_ = 0;
};

// Calls `once` of a process that dies in its 5th mini-batch, and then of one that comes in its
// place; `once` of the other workers once.
template <typename Once>
WorkerLife dies_and_comes_back(WorkerId mortal, const Once& once) {
  return [mortal, once](const GroupOptions& meeting, const live::SessionOptions& session) {
    if (session.worker == mortal) {
      try {
        once(meeting, session, /*dies_at=*/5U);
        ADD_FAILURE() << "it did not die";
      } catch (const HasDied& /*as it should*/) {
      }
      live::SessionOptions again = session;
      again.process = 77;
      const GroupOptions other{.links = std::make_shared<wire::PeerLinks>(
                                   wire::PeerLinks::Options{.sealed = meeting.links->sealed()})};
      return once(other, again, /*dies_at=*/0U);
    }
    once(meeting, session, /*dies_at=*/0U);
  };
}

class NewcomerTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PlainAndSealed, NewcomerTest, ::testing::Bool());

TEST_P(NewcomerTest, HasTheRingsWeightsToTheBitAndNoExampleIsLost) {
  constexpr std::uint64_t kEpochs = 40;  // Each has 100 examples.
  std::mutex mutex;
  std::vector<std::vector<float>> all;
  const auto once =
      [&](const GroupOptions& meeting, const live::SessionOptions& session, std::uint64_t dies_at) {
        DyingSource source(dies_at);
        const worker::Pace pace{worker::PaceOptions{}};
        // Momentum, whose state a newcomer has to have.
        Ring ring({.worker = session.worker,
                   .batches = {.workers = kThree, .batch = 1, .examples = 100, .epochs = kEpochs},
                   .rule = {.optimizer = Spec::parse("momentum"), .rate = 0.05},
                   .bucket_bytes = 8},
                  source.initial_weights(),
                  meeting,
                  source,
                  pace);
        Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
          return ring.weights();
        });
        ring.run(member);
        const std::lock_guard lock(mutex);
        all.push_back(ring.weights());
      };
  const HostResult found = run_in_threads(
      {.topology = Topology::kRing, .workers = kThree, .batch = 1, .limits = {.epochs = kEpochs}},
      dies_and_comes_back(WorkerId{1}, once),
      GetParam());
  EXPECT_EQ(found.code, ExitCode::kDone) << found.why;
  EXPECT_EQ(found.statistics.examples_applied, 100 * kEpochs);
  EXPECT_EQ(found.statistics.workers[1].incarnations, 2U);
  ASSERT_EQ(all.size(), kThree);
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
  EXPECT_EQ(all[0], found.weights);
}

TEST_P(NewcomerTest, BeginsWithTheWeightsOfAnotherInAGossip) {
  for (const Averaging averaging : {Averaging::kCoupled, Averaging::kPush, Averaging::kElastic}) {
    const auto once = [&](const GroupOptions& meeting,
                          const live::SessionOptions& session,
                          std::uint64_t dies_at) {
      DyingSource source(dies_at);
      const worker::Pace pace{worker::PaceOptions{}};
      // Nothing is learnt, so all weights stay 0.5; one that comes back with others would show.
      Gossip gossip({.worker = session.worker,
                     .batches = {.workers = kThree, .batch = 4, .examples = 100},
                     .rule = {.optimizer = Spec::parse("sgd"), .rate = 0.0},
                     .averaging = averaging,
                     .graph = averaging == Averaging::kPush ? worker::Graph::kComplete
                                                            : worker::Graph::kBipartite},
                    std::vector<float>(5, session.process == 77 ? 0.9F : 0.5F),
                    meeting,
                    source,
                    pace);
      Member member(session, {.manifest = source.manifest(), .dataset_examples = 100}, [&] {
        return gossip.weights();
      });
      gossip.run(member);
    };
    // Worker 0, which holds the centre of an elastic averaging.
    const HostResult found = run_in_threads({.topology = Topology::kGossip,
                                             .centre = averaging == Averaging::kElastic,
                                             .workers = kThree,
                                             .limits = {.updates = 3'000}},
                                            dies_and_comes_back(WorkerId{0}, once),
                                            GetParam());
    EXPECT_EQ(found.code, ExitCode::kDone) << found.why;
    EXPECT_EQ(found.statistics.workers[0].incarnations, 2U);
    EXPECT_EQ(found.weights, std::vector<float>(5, 0.5F));
    EXPECT_EQ(found.worst_replica, 0.5);
  }
}

TEST(Handover, WhatDoesNotFitIsRefusedInOneLine) {
  const GroupForTest all(2);
  const auto keep = [](std::vector<float>& weights) {
    return [&weights](Archive& archive) { archive("weights", weights); };
  };
  const std::jthread gives([&] {
    GlooGroup group(all.member(0));
    group.join();
    std::vector<float> weights(4, 1.0F);
    hand_over(group, 1, keep(weights));
    hand_over(group, 1, keep(weights));
    std::vector<float> none(1);
    EXPECT_THROW(group.receive(1, 1, none), GroupBroken);  // Until the other is done.
  });
  GlooGroup group(all.member(1));
  group.join();
  std::vector<float> weights(4);
  take_over(group, 0, weights.size(), keep(weights));
  EXPECT_EQ(weights, std::vector<float>(4, 1.0F));
  std::vector<float> fewer(3);
  try {
    take_over(group, 0, fewer.size(), keep(fewer));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_EQ(said.find('\n'), std::string::npos);
    EXPECT_NE(said.find("hands over cannot be used: state 'weights'"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace outpace::collective
