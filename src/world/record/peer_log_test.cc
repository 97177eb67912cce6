#include "record/peer_log.h"

#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

const peer::Setting kRing{.batches = {.workers = 2, .batch = 4, .examples = 20, .epochs = 3}};

class PeerLogTest : public testing::Test {
 protected:
  void put(const std::string& text) const {
    std::filesystem::create_directories(path_.parent_path());
    std::ofstream(path_) << text;
  }
  [[nodiscard]] std::vector<PeerLine> lines(PeerLogReader& log) const {
    std::vector<PeerLine> found;
    for (PeerLine line; log.next(line);) {
      found.push_back(line);
    }
    return found;
  }

  const TemporaryDirectory folder_;
  const std::filesystem::path path_ = folder_.path() / "decisions" / "host.jsonl";
  const std::string first_ = R"({"outpace_peers":1,"run":"ring:workers=2"})"
                             "\n";
};

TEST_F(PeerLogTest, IsReadAsItWasWritten) {
  {
    PeerLog log(path_, kRing);
    log.append(Time{Duration{5}}, std::nullopt, "lost:worker=1", "nothing");
    log.append(Time{Duration{7}}, WorkerId{1}, "broken", "");
    log.close();
  }
  PeerLogReader log(path_);
  EXPECT_EQ(log.setting().words(), kRing.words());
  const auto found = lines(log);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].now, Time{Duration{5}});
  EXPECT_EQ(found[0].worker, std::nullopt);
  EXPECT_EQ(found[0].event, "lost:worker=1");
  EXPECT_EQ(found[0].decided, "nothing");
  EXPECT_EQ(found[1].worker, WorkerId{1});
  EXPECT_EQ(found[1].decided, "");
}

TEST_F(PeerLogTest, ATornLineIsLeftOut) {
  put(first_ + R"({"now":1,"event":"out","decided":""})"
               "\n"
               R"({"now":2,"ev)");
  PeerLogReader log(path_);
  EXPECT_EQ(lines(log).size(), 1U);
  EXPECT_TRUE(log.lines().cut_short());
}

TEST_F(PeerLogTest, IsKeptBelowASize) {
  PeerLog log(path_, kRing, {.bytes_max = 800});
  for (int line = 0; line < 100; ++line) {
    log.append(Time{Duration{line}}, WorkerId{0}, "gradient", "wants a meeting");
    log.flush();
  }
  log.close();
  PeerLogReader reader(path_);
  EXPECT_LT(lines(reader).size(), 10U);
  EXPECT_NE(reader.lines().gap().find("parts that were removed"), std::string::npos);
}

TEST_F(PeerLogTest, WhatCannotBeReadIsRefused) {
  const auto refusal = [this](const std::string& text) {
    put(text);
    return refusal_of([this] {
      PeerLogReader log(path_);
      (void)lines(log);
    });
  };
  const std::string file = path_.string();
  EXPECT_EQ(refusal(R"({"outpace_peers":2,"run":"ring:workers=2"})"
                    "\n"),
            file + ":1: a decision log of version 2; this program reads version 1");
  EXPECT_EQ(refusal(R"({"outpace_decisions":1,"policy":"sync","workers":2})"
                    "\n"),
            file + R"(:1: not a decision log: it does not begin with {"outpace_peers":1)");
  EXPECT_EQ(refusal(R"({"outpace_peers":1,"run":"star:workers=2"})"
                    "\n"),
            file + ":1: 'star' is neither a ring nor a gossip");
  EXPECT_EQ(refusal(first_ + R"({"now":1,"worker":2,"event":"out","decided":""})"
                             "\n"),
            file + ":2: worker 2 of a run with 2");
  EXPECT_EQ(refusal(first_ + R"({"now":1,"decided":"waits"})"
                             "\n"),
            file + ":2: no 'event'");
  EXPECT_EQ(refusal(R"({"outpace_peers":1,"run":"ring:workers=2","every":3})"
                    "\n"),
            file +
                ":1: the log keeps one in 3 decisions, which cannot be followed; record a run with "
                "--decisions all or capped");
}

}  // namespace
}  // namespace outpace::record
