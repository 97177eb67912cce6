#include "record/peer_replay.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"
#include "peer/gossip.h"
#include "peer/replayed.h"
#include "record/peer_log.h"

namespace outpace::record {
namespace {

// The host forms a group of two, and worker 1 draws neighbours for some gradients.
class PeerReplayTest : public testing::Test {
 protected:
  PeerReplayTest() {
    const peer::Setting setting{.topology = worker::Topology::kGossip,
                                .batches = {.workers = 2},
                                .averaging = peer::Averaging::kPush};
    PeerLog of_host(host_, setting);
    peer::Formation host(of_host.journal_of(std::nullopt));
    (void)host.begin({WorkerId{0}, WorkerId{1}});
    PeerLog of_worker(worker_, setting);
    const peer::Draw draw = [] { return 0U; };
    peer::Gossip gossip(setting.averaging, 1, of_worker.journal_of(WorkerId{1}));
    (void)gossip.join({.rank = 1, .size = 2, .generation = 1}, draw);
    (void)gossip.begin_gradient(draw);
    (void)gossip.came({0, peer::Say::kCame}, draw);
    gossip.apply();
  }
  [[nodiscard]] Replay replayed() const { return replay_peers(RunDirectory::open(folder_.path())); }
  void replace(const std::string& from, const std::string& to) const {
    std::string text = contents(worker_);
    text.replace(text.find(from), from.size(), to);
    std::ofstream(worker_) << text;
  }

  const TemporaryDirectory folder_;
  const std::filesystem::path host_ = folder_.path() / "decisions" / "host.jsonl";
  const std::filesystem::path worker_ = folder_.path() / "decisions" / "worker-1.jsonl";
};

TEST_F(PeerReplayTest, AllDecideTheSame) {
  const Replay found = replayed();
  EXPECT_FALSE(found.difference || found.broken);
  EXPECT_EQ(found.policy, "gossip");
  EXPECT_EQ(found.header.workers, 2U);
  EXPECT_EQ(found.members, 2U);
  EXPECT_EQ(found.decisions, 1U + 8U);
}

TEST_F(PeerReplayTest, ADecisionThatDiffersIsNamed) {
  replace("sends pushed to 0", "sends pushed to 1");
  const Replay found = replayed();
  ASSERT_TRUE(found.difference && found.difference->member);
  EXPECT_EQ(found.difference->member->name, "worker 1");
  EXPECT_EQ(found.difference->member->event, 5U);
  EXPECT_EQ(found.difference->file, worker_);
  EXPECT_EQ(found.difference->line, 6U);
  EXPECT_EQ(found.difference->event, "meet");
  EXPECT_EQ(found.difference->recorded, "sends pushed to 1, then awaits came from 0");
  EXPECT_EQ(found.difference->replayed, "sends pushed to 0, then awaits came from 0");
}

TEST_F(PeerReplayTest, AnEventThatCannotComeIsNamed) {
  replace("came:from=0,says=came", "came:from=1,says=came");
  const Replay found = replayed();
  ASSERT_TRUE(found.broken);
  EXPECT_EQ(found.broken->what,
            "worker 1: event 'came:from=1,says=came' cannot come after those before it");
}

TEST_F(PeerReplayTest, AWorkerThatWasKilledHasDecidedWhatIsThere) {
  const std::string text = contents(worker_);
  std::ofstream(worker_) << text.substr(0, text.size() - 5);
  Replay found = replayed();
  EXPECT_FALSE(found.difference || found.broken);
  EXPECT_EQ(found.decisions, 8U);
  EXPECT_EQ(found.cut_short, std::vector<std::filesystem::path>{worker_});
  std::ofstream(worker_) << "";
  found = replayed();
  EXPECT_EQ(found.members, 1U);
  EXPECT_EQ(found.decisions, 1U);
  EXPECT_NE(found.gap.find("worker-1.jsonl: no decision of it was kept"), std::string::npos);
}

}  // namespace
}  // namespace outpace::record
