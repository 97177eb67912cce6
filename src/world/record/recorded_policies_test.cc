#include "record/recorded_policies.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/auto_candidates.h"

namespace outpace::record {
namespace {

constexpr std::uint32_t kSaps = 3;

Time second(double seconds) {
  return Time{from_seconds(seconds)};
}

class Recorded {
 public:
  explicit Recorded(const std::string& policy) : policies_(policy) {}

  Recorded& set(double at, const std::string& policy) {
    LoggedDecision decision;
    decision.event = policy::PolicySet{.policy = policy};
    policies_.follow(decision, second(at));
    return *this;
  }
  Recorded& seam(double at, std::uint32_t to) {
    LoggedDecision decision;
    decision.event = policy::TimerFired{};
    decision.actions = {policy::Switched{.to = to}};
    policies_.follow(decision, second(at));
    return *this;
  }
  Recorded& lose_track() {
    policies_.lose_track();
    return *this;
  }

  Recorded& mostly(const std::string& candidate) {
    policies_.mostly(candidate);
    return *this;
  }

  std::string policy() {
    notes_.clear();
    return policies_.policy(notes_);
  }
  [[nodiscard]] bool mostly_balanced() const { return policies_.mostly_balanced(); }
  [[nodiscard]] std::string note() const { return notes_.size() == 1 ? notes_.front() : ""; }

 private:
  RecordedPolicies policies_;
  std::vector<std::string> notes_;
};

TEST(RecordedPolicies, AreThatOfTheLogWhereNothingChanged) {
  EXPECT_EQ(Recorded("ssp:s=3").policy(), "ssp:s=3");
  EXPECT_EQ(Recorded("switch(sync until updates>3 then async)").seam(1.0, 1).policy(),
            "switch(sync until updates>3 then async)");
  EXPECT_EQ(Recorded("auto").policy(), "dynamic");
}

TEST(RecordedPolicies, ChangeWhenSomebodySetsAnother) {
  EXPECT_EQ(Recorded("async").set(0.5, "sync").seam(0.7, 0).policy(),
            "switch(async until seconds>0.500 then sync)");
}

TEST(RecordedPolicies, ChangeWhenAutoChooses) {
  Recorded chosen("auto");
  chosen.seam(2.0, kSaps).seam(3.0, 0);
  EXPECT_EQ(chosen.policy(),
            "switch(dynamic until seconds>2.000 then saps until seconds>3.000 "
            "then dynamic)");
  EXPECT_EQ(chosen.note(), "");
  chosen.set(4.0, "sync").seam(4.2, 0).seam(5.0, kSaps);
  EXPECT_EQ(chosen.policy(),
            "switch(dynamic until seconds>2.000 then saps until seconds>3.000 "
            "then dynamic until seconds>4.000 then sync)")
      << "who sets another ends the choosing";
  EXPECT_EQ(Recorded("sync").set(1.0, "auto").seam(1.1, 0).policy(),
            "switch(sync until seconds>1.000 then dynamic)");
}

TEST(RecordedPolicies, SayHowBalancedMiniBatchesAreReplayed) {
  Recorded chosen("auto");
  const auto balanced = static_cast<std::uint32_t>(policy::kAutoCandidates.size() - 1);
  chosen.seam(2.0, balanced);
  EXPECT_EQ(chosen.policy(), "switch(dynamic until seconds>2.000 then dynamic)");
  EXPECT_NE(chosen.note().find("replayed without"), std::string::npos) << chosen.note();
  EXPECT_FALSE(chosen.mostly_balanced());
  chosen.seam(4.5, kSaps);  // 2.5 s of 4.5.
  EXPECT_TRUE(chosen.mostly_balanced());
  (void)chosen.policy();
  EXPECT_NE(chosen.note().find("replayed with that"), std::string::npos) << chosen.note();
  chosen.seam(5.1, 0);  // 2.5 s of 5.1.
  EXPECT_FALSE(chosen.mostly_balanced());
}

TEST(RecordedPolicies, AreWhatMostlyDecidedWhereDecisionsWereLeftOut) {
  Recorded chosen("auto");
  chosen.seam(2.0, kSaps).mostly("async");
  EXPECT_EQ(chosen.policy(), "switch(dynamic until seconds>2.000 then saps)") << "all is known";
  EXPECT_EQ(chosen.lose_track().policy(), "switch(dynamic until seconds>2.000 then saps)");
  EXPECT_EQ(chosen.mostly("async").policy(), "async");
  EXPECT_NE(chosen.note().find("replayed as async from end to end"), std::string::npos);
  EXPECT_FALSE(chosen.mostly_balanced());
  EXPECT_EQ(chosen.mostly("dynamic --balance").policy(), "dynamic");
  EXPECT_NE(chosen.note().find("as dynamic --balance from end to end"), std::string::npos);
  EXPECT_TRUE(chosen.mostly_balanced());
  EXPECT_EQ(Recorded("sync").lose_track().mostly("async").policy(), "sync");
}

TEST(RecordedPolicies, AreThatOfTheLogWhereOneHasPhasesOfItsOwn) {
  Recorded set("async");
  set.set(1.0, "switch(sync until updates>3 then async)");
  EXPECT_EQ(set.policy(), "async");
  EXPECT_NE(set.note().find("replayed as async from end to end"), std::string::npos);
}

}  // namespace
}  // namespace outpace::record
