#include "watch/decision_text.h"

#include <vector>

#include <gtest/gtest.h>

namespace outpace::watch {
namespace {

using policy::Action;

TEST(DecisionText, SaysWhatHappenedAndWhatWasDone) {
  EXPECT_EQ(in_words(policy::GradientArrived{.worker = WorkerId{3},
                                             .release = Sequence{1},
                                             .computed_on = Version{0},
                                             .examples = 8,
                                             .nominal = 8,
                                             .partial = false,
                                             .runtime = std::chrono::milliseconds(21)}),
            "gradient of worker 3 (0.021 s)");
  EXPECT_EQ(in_words(policy::WorkerLeft{WorkerId{1}, policy::Departure::kDead}),
            "worker 1 leaves: dead");
  EXPECT_EQ(in_words(policy::Measured{policy::Measure::kTrainingLoss, 0.5, Version{1}}),
            "training loss is 0.5");
  const std::vector<Action> actions{policy::Accept{WorkerId{3}, Sequence{1}, 1.0},
                                    policy::Commit{},
                                    policy::Cancel{WorkerId{7}, false},
                                    policy::Release{WorkerId{0}},
                                    policy::Release{WorkerId{3}},
                                    policy::Release{WorkerId{5}},
                                    policy::WakeAt{Time{}}};
  EXPECT_EQ(in_words(actions),
            "accept worker 3, commit, cancel worker 7, release workers 0, 3 and 5");
  EXPECT_EQ(in_words(std::vector<Action>{}), "");
}

TEST(DecisionText, CountsManyWorkers) {
  std::vector<Action> actions;
  for (std::uint32_t worker = 0; worker < 9; ++worker) {
    actions.emplace_back(policy::Release{WorkerId{worker}});
  }
  EXPECT_EQ(in_words(actions), "release 9 workers");
}

}  // namespace
}  // namespace outpace::watch
