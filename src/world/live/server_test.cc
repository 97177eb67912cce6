#include "live/server.h"

#include <limits>
#include <string>
#include <utility>

#include "live/raw_peers_test.h"

namespace outpace::live {
namespace {

// ---- What peers offer before the run starts -----------------------------------------------------

TEST_F(ServerTest, AForeignWorkerThatLeavesBeforeTheStartIsForgotten) {
  serve(2);
  {
    RawPeer foreign = peer(hello_of(0, network_of(3)));
    EXPECT_TRUE(foreign.next_as<protocol::Welcome>().needs_weights);
    foreign.send(protocol::InitialWeights{}, {1, 2, 3});
    // While it is there, its network is the job's.
    RawPeer right = peer(hello_of(1));
    EXPECT_EQ(right.next_as<protocol::Stop>().why,
              "another network: tensor 1 is 'w' (2) here, and 'w' (3) in the job");
  }
  ASSERT_TRUE(until_said("worker 0 is gone"));
  RawPeer zero = peer(hello_of(0));
  EXPECT_TRUE(zero.next_as<protocol::Welcome>().needs_weights);
  protocol::Hello other_size = hello_of(1);
  other_size.dataset_examples = 11;
  EXPECT_EQ(peer(other_size).next_as<protocol::Stop>().why,
            "this worker's data set has 11 examples, the job's has 10");
  zero.send(protocol::InitialWeights{}, {4, 5});
  RawPeer one = peer(hello_of(1));
  (void)one.next_as<protocol::Welcome>();
  const auto released = zero.next();
  ASSERT_TRUE(released && std::holds_alternative<protocol::Release>(released->message));
  EXPECT_EQ(released->payload, (std::vector<float>{4, 5}));
}

TEST_F(ServerTest, AForeignEvaluatorOrAWorkerWithoutWeightsIsForgottenToo) {
  serve(2);
  { const RawPeer foreign = peer(protocol::Observe{.manifest = network_of(7)}); }
  EXPECT_NE(welcomed(hello_of(0, network_of(3))), nullptr);  // It leaves at once.
  EXPECT_NE(welcomed(hello_of(0)), nullptr);
}

TEST_F(ServerTest, InitialWeightsAreForgottenWithTheWorkerThatBroughtThem) {
  serve(3);
  auto bringer = welcomed(hello_of(0));
  ASSERT_NE(bringer, nullptr);
  bringer->send(protocol::InitialWeights{}, {8, 8});
  WorkerSession one(session(1),
                    {.manifest = network_of(2), .dataset_examples = 10, .initial_weights = [] {
                       ADD_FAILURE() << "worker 0 is expected again";
                       return std::vector<float>{0, 0};
                     }});
  bringer.reset();
  ASSERT_TRUE(until_said("worker 0 is gone"));
  const auto second = welcomed(hello_of(0));
  const auto two = welcomed(hello_of(2));
  ASSERT_TRUE(second && two);
  second->send(protocol::InitialWeights{}, {6, 7});
  const auto task = one.next();
  ASSERT_TRUE(task);
  EXPECT_EQ(task->weights, (std::vector<float>{6, 7}));
}

TEST_F(ServerTest, TheStartFixesTheNetwork) {
  serve(1);
  {
    RawPeer only = peer(hello_of(0));
    EXPECT_TRUE(only.next_as<protocol::Welcome>().needs_weights);
    only.send(protocol::InitialWeights{}, {8, 8});
    (void)only.next_as<protocol::Release>();
  }
  ASSERT_TRUE(until_said("worker 0 is gone"));
  EXPECT_EQ(peer(hello_of(0, network_of(3))).next_as<protocol::Stop>().why,
            "another network: tensor 1 is 'w' (3) here, and 'w' (2) in the job");
}

// ---- Which process holds a rank -----------------------------------------------------------------

protocol::Hello hello_of_process(std::uint64_t process, const std::string& host) {
  protocol::Hello hello = hello_of(0);
  hello.process = process;
  hello.host = host;
  return hello;
}

TEST_F(ServerTest, AFreshProcessOfARankWhoseProcessIsGoneIsTheNextIncarnation) {
  serve(1);
  for (std::uint32_t life = 1; life <= 3; ++life) {
    protocol::Welcome welcome{};
    const auto worker = welcomed(hello_of_process(life, "here"), &welcome);
    ASSERT_NE(worker, nullptr);
    EXPECT_EQ(welcome.incarnation, life);
    if (welcome.needs_weights) {
      worker->send(protocol::InitialWeights{}, {1, 2});
    }
    (void)worker->next_as<protocol::Release>();
    if (life == 2) {  // Or it is gone without a word.
      worker->send(protocol::Goodbye{});
    }
  }
}

TEST_F(ServerTest, AProcessIsRefusedWhileAnotherOfItsRankIsAlive) {
  serve(2);
  RawPeer first = peer(hello_of_process(7, "gnode1:1"));
  (void)first.next_as<protocol::Welcome>();
  RawPeer second = peer(hello_of_process(8, "gnode2:1"));
  const auto stop = second.next_as<protocol::Stop>();
  EXPECT_EQ(stop.how, protocol::Farewell::kFenced);
  EXPECT_EQ(stop.why,
            "worker 0 is alive at gnode1:1; end that process first, or take another --worker");
  EXPECT_TRUE(second.closed());
  EXPECT_TRUE(until_said("refused a process at gnode2:1: worker 0 is alive at gnode1:1"));
  first.send(protocol::InitialWeights{}, {1, 2});  // It goes on.
  RawPeer other = peer(hello_of(1));
  (void)other.next_as<protocol::Welcome>();
  (void)first.next_as<protocol::Release>();
}

// The thread that reads the first connection may learn of its end after the second has said Hello.
TEST_F(ServerTest, AProcessThatFollowsAnotherAtOnceIsNeverRefused) {
  serve(1);
  for (std::uint64_t life = 1; life <= 200; ++life) {
    RawPeer worker = peer(hello_of_process(life, "here"));
    ASSERT_EQ(worker.next_as<protocol::Welcome>().incarnation, life);
  }
}

TEST_F(ServerTest, AProcessThatConnectsAnewTakesItsOwnPlace) {
  serve(1);
  RawPeer before = peer(hello_of_process(7, "here"));
  (void)before.next_as<protocol::Welcome>();
  before.send(protocol::InitialWeights{}, {1, 2});
  (void)before.next_as<protocol::Release>();
  RawPeer after = peer(hello_of_process(7, "here"));
  EXPECT_EQ(after.next_as<protocol::Welcome>().incarnation, 2U);
  (void)after.next_as<protocol::Release>();
  EXPECT_EQ(before.next_as<protocol::Stop>().why, "this process has connected anew");
  EXPECT_TRUE(before.closed());
}

TEST_F(ServerTest, AProcessThatIsSilentBeforeTheStartHoldsItsRankNoLonger) {
  serve(2, std::chrono::nanoseconds(5));
  RawPeer silent = peer(hello_of_process(7, "here"));
  (void)silent.next_as<protocol::Welcome>();
  RawPeer fresh = peer(hello_of_process(8, "here"));
  EXPECT_EQ(fresh.next_as<protocol::Welcome>().incarnation, 2U);
  EXPECT_EQ(silent.next_as<protocol::Stop>().how, protocol::Farewell::kPresumedDead);
}

// ---- Nobody waits for an answer that never comes ------------------------------------------------

TEST_F(OpenReleaseTest, AGradientOfAnotherSizeEndsTheConnectionWithTheReason) {
  EXPECT_EQ(farewell_to(push_, {1}), "push: the gradient has 1 numbers, the job's network has 2");
}

TEST_F(OpenReleaseTest, APushForAnotherJobEndsTheConnectionWithTheReason) {
  ++push_.id.job;
  EXPECT_EQ(farewell_to(push_, {1, 1}),
            "push: for another job, or for this job's server before it was restarted");
}

TEST_F(OpenReleaseTest, APushOfAnotherIncarnationEndsTheConnectionWithTheReason) {
  push_.id.incarnation = 0;
  EXPECT_EQ(farewell_to(push_, {1, 1}),
            "push: of worker 0, incarnation 0; this connection is of worker 0, incarnation 1");
}

TEST_F(OpenReleaseTest, APushThatAnswersNoOpenReleaseIsRefused) {
  const Sequence open = push_.id.sequence;
  push_.id.sequence = Sequence{99};
  worker_->send(push_, {1, 1});
  const auto refused = worker_->next_as<protocol::Verdict>();
  EXPECT_EQ(refused.sequence, Sequence{99});
  EXPECT_EQ(refused.outcome, protocol::Outcome::kRefused);
  EXPECT_EQ(refused.why, "push: this mini-batch was answered or given up before");
  push_.id.sequence = open;  // The release is open as before.
  worker_->send(push_, {1, 1});
  EXPECT_EQ(worker_->next_as<protocol::Verdict>().outcome, protocol::Outcome::kAccepted);
}

TEST_F(ServerTest, APushBeforeJoiningEndsTheConnectionWithTheReason) {
  serve(2);
  RawPeer early = peer(hello_of(0));
  const auto welcome = early.next_as<protocol::Welcome>();
  early.send(push_of(welcome, {.sequence = Sequence{1}}), {1, 1});
  EXPECT_EQ(early.next_as<protocol::Stop>().why,
            "push: this worker has no mini-batch: it has not joined yet");
  EXPECT_TRUE(early.closed());
}

TEST_F(ServerTest, InitialWeightsThatAreNotFiniteAreRefusedAndAnotherWorkerMayBringThem) {
  serve(1);
  RawPeer wrong = peer(hello_of(0));
  (void)wrong.next_as<protocol::Welcome>();
  wrong.send(protocol::InitialWeights{}, {1, std::numeric_limits<float>::quiet_NaN()});
  const auto stop = wrong.next_as<protocol::Stop>();
  EXPECT_EQ(stop.how, protocol::Farewell::kIncompatible);
  EXPECT_EQ(stop.why,
            "initial weights: tensor 'w' has a number that is not finite (NaN at position 1)");
  RawPeer right = peer(hello_of(0));
  EXPECT_TRUE(right.next_as<protocol::Welcome>().needs_weights);
  right.send(protocol::InitialWeights{}, {1, 2});
  (void)right.next_as<protocol::Release>();
}

TEST_F(ServerTest, AWorkerNumberBeyondTheJobsIsRefused) {
  serve(2);
  const auto stop = peer(hello_of(2)).next_as<protocol::Stop>();
  EXPECT_EQ(stop.how, protocol::Farewell::kIncompatible);
  EXPECT_EQ(stop.why,
            "worker 2 is out of range: this job has --workers 2, so --worker takes 0 to 1");
  EXPECT_NE(welcomed(hello_of(1)), nullptr);
}

}  // namespace
}  // namespace outpace::live
