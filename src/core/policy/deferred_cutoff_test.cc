#include "policy/deferred_cutoff.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

using runtime_model::Fate;
using runtime_model::Observation;

// Writes down what it is shown, and predicts nothing.
class Spy final : public runtime_model::RuntimeModel {
 public:
  void keep(Archive& /*archive*/) override {}
  struct Shown {
    std::vector<std::vector<Observation>> iterations;
    std::vector<std::pair<std::uint32_t, double>> corrections;
  };
  explicit Spy(Shown& shown) : shown_(shown) {}

  void observe(std::span<const Observation> iteration) override {
    shown_.iterations.emplace_back(iteration.begin(), iteration.end());
  }
  void correct(std::uint32_t worker, double seconds) override {
    shown_.corrections.emplace_back(worker, seconds);
  }
  [[nodiscard]] bool forecast(runtime_model::Forecast& /*out*/) override { return false; }

 private:
  Shown& shown_;
};

DeferredCutoff spied(Spy::Shown& shown) {
  return {std::make_unique<Spy>(shown), {}, /*workers=*/2};
}

TEST(DeferredCutoff, ShowsAnIterationWhenThereIsTimeToThink) {
  Spy::Shown shown;
  DeferredCutoff cutoff = spied(shown);
  cutoff.think();
  cutoff.observe(WorkerId{0}, {.seconds = 1.5, .fate = Fate::kArrived});
  cutoff.observe(WorkerId{1}, {.seconds = 2.0, .fate = Fate::kLonger});
  cutoff.end(1, 2.0);
  cutoff.take_part(WorkerId{0}, 0.0);
  cutoff.observe(WorkerId{0}, {.seconds = 9.0, .fate = Fate::kArrived});  // In the next iteration.
  EXPECT_TRUE(shown.iterations.empty());
  cutoff.think();
  ASSERT_EQ(shown.iterations.size(), 1);
  EXPECT_EQ(shown.iterations[0][0].seconds, 1.5);
  EXPECT_EQ(shown.iterations[0][1].seconds, 2.0);
  EXPECT_EQ(shown.iterations[0][1].fate, Fate::kLonger);
  cutoff.think();
  EXPECT_EQ(shown.iterations.size(), 1) << "once is enough";
}

TEST(DeferredCutoff, ShowsWhatAPartTellsWithItsOwnIteration) {
  Spy::Shown shown;
  DeferredCutoff cutoff = spied(shown);
  cutoff.observe(WorkerId{0}, {.seconds = 1.0, .fate = Fate::kArrived});
  cutoff.observe(WorkerId{1}, {.seconds = 1.0, .fate = Fate::kLonger});
  cutoff.end(1, 1.0);
  cutoff.correct(WorkerId{1}, 4.0);
  cutoff.think();
  ASSERT_EQ(shown.iterations.size(), 1);
  EXPECT_EQ(shown.iterations[0][1].seconds, 4.0);
  EXPECT_EQ(shown.iterations[0][1].fate, Fate::kArrived);
  EXPECT_TRUE(shown.corrections.empty());
  cutoff.correct(WorkerId{1}, 5.0);  // Later, there is no other way.
  EXPECT_EQ(shown.corrections.size(), 1);
}

TEST(DeferredCutoff, TakesNoNoticeOfWhoWasNotPlannedOrTookNoTime) {
  Spy::Shown shown;
  DeferredCutoff cutoff = spied(shown);
  EXPECT_TRUE(cutoff.forecasts(WorkerId{1}));
  EXPECT_FALSE(cutoff.forecasts(WorkerId{2}));
  cutoff.observe(WorkerId{0}, {.seconds = 1.0, .fate = Fate::kArrived});
  cutoff.observe(WorkerId{0}, {.seconds = 0.0, .fate = Fate::kLonger});
  cutoff.observe(WorkerId{2}, {.seconds = 1.0, .fate = Fate::kArrived});
  cutoff.correct(WorkerId{2}, 5.0);
  cutoff.correct(WorkerId{1}, 0.0);
  cutoff.begin_late(WorkerId{2}, 1.0);
  cutoff.end(2, 1.0);
  cutoff.take_part(WorkerId{2}, 0.0);
  cutoff.think();
  ASSERT_EQ(shown.iterations.size(), 1);
  ASSERT_EQ(shown.iterations[0].size(), 2);
  EXPECT_EQ(shown.iterations[0][0].seconds, 1.0);
  EXPECT_EQ(shown.iterations[0][0].fate, Fate::kArrived);
  EXPECT_TRUE(shown.corrections.empty());
  cutoff.correct(WorkerId{1}, 5.0);
  EXPECT_EQ(shown.corrections.size(), 1);
}

}  // namespace
}  // namespace outpace::policy
