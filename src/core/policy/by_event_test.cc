#include "policy/by_event.h"

#include <string>

#include <gtest/gtest.h>

namespace outpace::policy {
namespace {

class Recorder final : public ByEvent {
 public:
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t /*workers*/) const override { return 1; }
  [[nodiscard]] const std::string& heard() const { return heard_; }
  void keep(Archive& /*archive*/) override {}

 private:
  void join(const WorkerJoined& /*event*/, Decision& out) override { note("join", out); }
  void leave(const WorkerLeft& /*event*/, Decision& out) override { note("leave", out); }
  void arrive(Time /*now*/, const GradientArrived& /*event*/, Decision& out) override {
    note("arrive", out);
  }
  void end(Time /*now*/, const ReleaseEnded& /*event*/, Decision& out) override {
    note("end", out);
  }
  void note(const char* name, Decision& out) {
    EXPECT_TRUE(out.actions.empty()) << "of the decision before";
    heard_ += std::string(name) + " ";
    out.actions.push_back(Commit{});
  }

  std::string heard_;
};

TEST(ByEvent, GivesEachEventToItsFunctionWithAnEmptyDecision) {
  Recorder policy;
  Decision out;
  policy.decide(Time{}, WorkerJoined{}, out);
  policy.decide(Time{}, GradientArrived{}, out);
  policy.decide(Time{}, ReleaseEnded{.worker = {}, .release = {}, .how = Ending::kAbandoned}, out);
  EXPECT_EQ(out.reason.why, Why::kAbandoned);
  policy.decide(Time{}, ReleaseEnded{.worker = {}, .release = {}, .how = Ending::kRefused}, out);
  EXPECT_EQ(out.reason.why, Why::kRefused);
  policy.decide(Time{}, ReleaseEnded{.worker = {}, .release = {}, .how = Ending::kFiltered}, out);
  EXPECT_EQ(out.reason.why, Why::kFiltered);
  policy.decide(Time{}, WorkerLeft{}, out);
  EXPECT_EQ(policy.heard(), "join arrive end end end leave ");
  policy.decide(Time{}, TimerFired{}, out);
  policy.decide(Time{}, Measured{}, out);
  EXPECT_TRUE(out.actions.empty());
}

}  // namespace
}  // namespace outpace::policy
