#include "job/decisions_kept.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"
#include "job/live_job.h"

namespace outpace::job {
namespace {

using Kept = Value<DecisionsKept>;

TEST(DecisionsKept, ReadsWhatItWrites) {
  for (const char* text : {"all", "off", "sampled:every=7", "capped:mib=64"}) {
    const auto kept = Kept::parse(text);
    ASSERT_TRUE(kept) << text;
    EXPECT_EQ(Kept::text(*kept), text);
  }
  EXPECT_EQ(Kept::text(*Kept::parse("capped")), "capped:mib=1024");
  EXPECT_EQ(Kept::text(*Kept::parse("sampled")), "sampled:every=100");
}

TEST(DecisionsKept, ByDefaultTheyFillNoDisk) {
  Declared<ServerJob> server;
  EXPECT_EQ(server.options.at("decisions").values(), std::vector<std::string>{"capped:mib=1024"});
}

TEST(DecisionsKept, RefusesWhatItDoesNotKnow) {
  Declared<ServerJob> server;
  EXPECT_NE(refusal_of([&] {
              server.give("decisions", "some");
            }).find("it takes off, all, sampled:every=N or capped:mib=N"),
            std::string::npos);
  EXPECT_NE(refusal_of([] { (void)Kept::parse("sampled:every=1"); }), "accepted");
  EXPECT_NE(refusal_of([] { (void)Kept::parse("capped:mib=0"); }), "accepted");
  EXPECT_NE(refusal_of([] { (void)Kept::parse("all:every=2"); }), "accepted");
}

TEST(DecisionsKept, IsForEveryTopology) {
  Declared<TrainJob> ring;
  ring.give("topology", "ring").give("decisions", "off");
  fit_topology(ring.options, ring.job);
  EXPECT_EQ(ring.job.output.decisions.how, DecisionsKept::How::kOff);
}

}  // namespace
}  // namespace outpace::job
