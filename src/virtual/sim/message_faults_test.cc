#include "sim/message_faults.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace outpace::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr auto kThere = Way::kToServer;
constexpr auto kBack = Way::kToWorker;

constexpr WorkerId kFirst{0};
constexpr WorkerId kSecond{1};

MessageFaults faults(const std::vector<std::string>& specs, std::uint64_t seed = 1) {
  std::vector<Fault> parsed;
  parsed.reserve(specs.size());
  for (const std::string& spec : specs) {
    parsed.push_back(parse_fault(spec, 8));
  }
  return {parsed, 8, seed};
}

MessageFaults::Sent sent(Duration at, bool may_stray = true) {
  return {.at = Time{at}, .arrives = Time{at} + milliseconds(1), .may_stray = may_stray};
}

TEST(MessageFaults, ChangeNothingWhereThereAreNone) {
  MessageFaults none = faults({"crash:worker=1,at=1s"});
  const auto passage = none.pass(kFirst, kThere, sent(seconds(1)));
  EXPECT_EQ(passage.arrival, Time{milliseconds(1001)});
  EXPECT_FALSE(passage.lost || passage.overtaken || passage.again);
  EXPECT_EQ(none.open(kFirst, kThere, Time{seconds(1)}), Time{seconds(1)});
}

TEST(MessageFaults, APartitionHoldsWhatArrivesWhileItLasts) {
  MessageFaults cut = faults(
      {"partition:workers=1+3,at=10s,for=5s", "partition:workers=1,at=15s,for=1s,way=to_server"});
  EXPECT_EQ(cut.pass(kSecond, kThere, sent(seconds(9))).arrival, Time{milliseconds(9001)});
  EXPECT_EQ(cut.pass(kSecond, kBack, sent(seconds(12))).arrival, Time{seconds(15)});
  // One cut ends within the other, which is of one way only.
  EXPECT_EQ(cut.pass(kSecond, kThere, sent(seconds(12))).arrival, Time{seconds(16)});
  EXPECT_EQ(cut.pass(kSecond, kThere, sent(seconds(16))).arrival, Time{milliseconds(16001)});
  EXPECT_EQ(cut.pass(kFirst, kThere, sent(seconds(12))).arrival, Time{milliseconds(12001)});
  EXPECT_EQ(cut.counts().held, 2U);
  EXPECT_EQ(cut.counts().cut, 5U);
}

TEST(MessageFaults, AClogCutsAShareOfTheLinksOneByOneAndMendsThemOneByOne) {
  const MessageFaults clogged = faults({"clog:at=10s,for=20s,step=1s,share=1"});
  std::set<Time> mended;
  for (std::uint32_t worker = 0; worker < 8; ++worker) {
    const WorkerId id{worker};
    EXPECT_EQ(clogged.open(id, kThere, Time{seconds(9)}), Time{seconds(9)});
    const Time open = clogged.open(id, kThere, Time{seconds(18)});
    EXPECT_EQ(open, clogged.open(id, kBack, Time{seconds(18)})) << "both ways";
    mended.insert(open);
  }
  // All are cut at 18 s; they are mended at 30, 31, ... 37 s.
  EXPECT_EQ(mended.size(), 8U);
  EXPECT_EQ(*mended.begin(), Time{seconds(30)});
  EXPECT_EQ(*mended.rbegin(), Time{seconds(37)});
  EXPECT_EQ(faults({"clog:at=10s,for=20s,step=1s,share=0"}).counts().cut, 0U);
}

TEST(MessageFaults, ADelayedMessageIsLateAndKeepsItsPlace) {
  MessageFaults late = faults({"delay:at=1s,for=1s,probability=1,by=50ms"});
  const auto passage = late.pass(kFirst, kThere, sent(seconds(1)));
  EXPECT_EQ(passage.arrival, Time{milliseconds(1051)});
  EXPECT_FALSE(passage.overtaken);
  EXPECT_EQ(late.pass(kFirst, kThere, sent(seconds(2))).arrival, Time{milliseconds(2001)});
}

TEST(MessageFaults, ACopyComesAfterTheMessageAndAStrayIsOvertaken) {
  MessageFaults twice = faults({"duplicate:at=0s,for=9s,probability=1,by=1s"});
  MessageFaults stray = faults({"reorder:at=0s,for=9s,probability=1,by=1s"});
  for (int i = 0; i < 100; ++i) {
    const auto copied = twice.pass(kFirst, kThere, sent(milliseconds(i)));
    ASSERT_TRUE(copied.again.has_value());
    EXPECT_GE(*copied.again, copied.arrival);
    EXPECT_LE(*copied.again, copied.arrival + seconds(1));
    const auto overtaken = stray.pass(kFirst, kThere, sent(milliseconds(i)));
    EXPECT_TRUE(overtaken.overtaken);
    EXPECT_LE(overtaken.arrival, Time{milliseconds(1001 + i)});
  }
  EXPECT_FALSE(twice.pass(kFirst, kBack, sent(seconds(1), /*may_stray=*/false)).again);
  EXPECT_FALSE(stray.pass(kFirst, kBack, sent(seconds(1), /*may_stray=*/false)).overtaken);
  EXPECT_EQ(twice.counts().duplicated, 100U);
  EXPECT_EQ(stray.counts().reordered, 100U);
}

TEST(MessageFaults, LoseTheirShareOfMessages) {
  constexpr int kSent = 10'000;
  MessageFaults lossy = faults({"lose:at=0s,for=9s,probability=0.1"});
  int lost = 0;
  for (int i = 0; i < kSent; ++i) {
    lost += lossy.pass(kFirst, kThere, sent(seconds(1))).lost ? 1 : 0;
  }
  // Mean 1,000, deviation 30: beyond five deviations once in a million.
  EXPECT_NEAR(lost, 1000, 150);
  EXPECT_EQ(lossy.counts().lost, static_cast<std::uint64_t>(lost));
}

}  // namespace
}  // namespace outpace::sim
