#include "run/children.h"

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"
#include "job/declared_test.h"
#include "run/whole_file.h"

namespace outpace::run {
namespace {

using Strings = std::vector<std::string>;

TEST(Children, APrefixNamesTheWorker) {
  EXPECT_EQ(prefix_words("", 3), Strings{});
  EXPECT_EQ(prefix_words("taskset -c {worker} x{worker}y{worker}", 3),
            (Strings{"taskset", "-c", "3", "x3y3"}));
}

// What a child that is told `words` reads.
template <typename Job>
job::Declared<Job>& told(const Strings& words, job::Declared<Job>& child) {
  EXPECT_EQ(words.size(), 3);
  const std::string file = words.back().substr(words.back().find('=') + 1);
  job::set_layers(child.options,
                  {job::from_toml(whole_file("resolved", file), file, child.options)});
  return child;
}

class ChildrenTest : public testing::Test {
 protected:
  ChildrenTest() {
    job_.give("workers", "2")
        .give("seed", "7")
        .give("slow", "worker=1,factor=3")
        .give("attack", "zero:workers=0")
        .give("network", "charlm:layers=2,width=64")
        .give("restart-workers", "true");
  }

  TemporaryDirectory directory_;
  ChildFiles files_{.logs = directory_.path().string(), .resolved = directory_.path().string()};
  job::Declared<job::TrainJob> job_;
  JobPlace place_{.server = "unix:/tmp/s", .token_file = "/tmp/token"};
};

TEST_F(ChildrenTest, AWorkerReadsWhatTheRunResolved) {
  const auto children = worker_children(job_.job, 2, place_, files_);
  ASSERT_EQ(children.size(), 2);
  job::Declared<job::WorkerJob> child;
  const job::WorkerJob& worker = told(children[1].command(0), child).job;
  EXPECT_EQ(worker.server, "unix:/tmp/s");
  EXPECT_EQ(worker.token_file, "/tmp/token");
  EXPECT_EQ(worker.worker, 1);
  EXPECT_EQ(worker.workers, 2);
  EXPECT_EQ(worker.seed, 7);
  EXPECT_EQ(worker.work.network.text, "charlm:layers=2,width=64");
  EXPECT_EQ(worker.work.delays.slow, Strings{"worker=1,factor=3"});
  EXPECT_EQ(worker.work.attacks, Strings{"zero:workers=0"});
  EXPECT_GT(children[1].restarts_max, 0);
}

TEST_F(ChildrenTest, AnEvaluatorHasTheNetworkOfTheWorkers) {
  bool evaluated = false;
  const live::ChildSpec child =
      evaluator_child(job_.job, place_, files_, [&evaluated] { return evaluated; });
  job::Declared<job::EvaluatorJob> declared;
  EXPECT_EQ(told(child.command(0), declared).job.network.text, "charlm:layers=2,width=64");
  EXPECT_FALSE(child.is_worker);
  EXPECT_EQ(child.restarts_max, live::kRestartsWithoutEnd);
  EXPECT_FALSE(child.did_well());
  evaluated = true;
  EXPECT_TRUE(child.did_well());
}

TEST_F(ChildrenTest, PeersDifferByTheirRankAlone) {
  job::PeerJob shared{.training = job_.job.training,
                      .topology = job::Topology::kGossip,
                      .work = job_.job.work,
                      .server = "unix:/tmp/s",
                      .token_file = "t",
                      .encrypt = true};
  files_.decisions = "/run/decisions";
  const auto children = peer_children(shared, job_.job, 2, files_);
  ASSERT_EQ(children.size(), 2);
  job::Declared<job::PeerJob> child;
  const job::PeerJob& peer = told(children[1].command(0), child).job;
  EXPECT_EQ(peer.worker, 1);
  EXPECT_EQ(peer.topology, job::Topology::kGossip);
  EXPECT_TRUE(peer.encrypt);
  EXPECT_EQ(peer.decisions_file, "/run/decisions/worker-1.jsonl");
}

TEST_F(ChildrenTest, AnotherMachineIsToldAllButWhereThingsAreOnThisOne) {
  const job::PeerJob shared{.training = job_.job.training,
                            .topology = job::Topology::kGossip,
                            .gossip = {.average_every = 3},
                            .work = job_.job.work,
                            .weights = "/here/weights",
                            .server = "unix:/tmp/s",
                            .token_file = "/here/token",
                            .listen = "10.0.0.1",
                            .encrypt = true};
  const std::string text = settings_of(shared);
  EXPECT_EQ(text.find("/here"), std::string::npos) << text;
  const job::PeerJob peer = peer_job_of(text + "decisions-file = \"/etc/passwd\"\n");
  EXPECT_EQ(peer.topology, job::Topology::kGossip);
  EXPECT_EQ(peer.gossip.average_every, 3);
  EXPECT_EQ(peer.work.network.text, job_.job.work.network.text);
  EXPECT_TRUE(peer.encrypt);
  EXPECT_EQ(peer.server + peer.listen + peer.decisions_file, "");
}

}  // namespace
}  // namespace outpace::run
