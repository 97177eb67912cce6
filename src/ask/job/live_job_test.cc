#include "job/live_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

using Train = Declared<TrainJob>;

constexpr const char* kNoCertificate = "";

std::string refusal(Train& train) {
  return refusal_of([&] { fit_topology(train.options, train.job); });
}

TEST(LiveJob, ARingBehavesLikeSyncAndAGossipLikeAsync) {
  Train ring;
  ring.give("topology", "ring");
  EXPECT_EQ(refusal(ring), "accepted");
  EXPECT_EQ(ring.job.training.policy.text, "sync");
  EXPECT_EQ(what_runs(ring.job), "ring");
  Train gossip;
  gossip.give("topology", "gossip").give("policy", "async");
  EXPECT_EQ(refusal(gossip), "accepted");
  EXPECT_EQ(gossip.job.training.policy.text, "async");
}

TEST(LiveJob, AnOptionOfTheServerIsRefusedWithoutOneUnlessItIsTheDefault) {
  Train ring;
  ring.give("topology", "ring").give("filter", "none").give("min-workers", "1");
  EXPECT_EQ(refusal(ring), "accepted");
  ring.give("filter", "median");
  EXPECT_EQ(refusal(ring),
            "--filter conflicts with --topology ring: it belongs to a parameter server; remove it");
}

TEST(LiveJob, ARingPacksGradientsAndNoWeights) {
  Train ring;
  ring.give("topology", "ring")
      .give("compress", "topk:share=0.05")
      .give("compress-weights", "none");
  EXPECT_EQ(refusal(ring), "accepted");
  ring.give("compress-weights", "bf16");
  EXPECT_EQ(refusal(ring),
            "--compress-weights conflicts with --topology ring, where --compress packs gradients, "
            "and no weights travel; remove it");
}

TEST(LiveJob, AGossipPacksWholeWeightsAndLeavesNothingBehind) {
  for (const char* packs : {"none", "bf16", "fp16", "int8", "int4"}) {
    Train gossip;
    EXPECT_EQ(refusal(gossip.give("topology", "gossip").give("compress", packs)), "accepted");
  }
  Train gossip;
  gossip.give("topology", "gossip").give("compress", "topk");
  EXPECT_EQ(refusal(gossip),
            "--compress topk:share=0.01,bits=8 conflicts with --topology gossip: weights that are "
            "not sent are not 0; take bf16 or int8");
  gossip.give("compress", "int8:feedback=0.5");
  EXPECT_NE(refusal(gossip).find("nothing is left behind; remove feedback"), std::string::npos);
  gossip.give("compress", "int8").give("compress-weights", "int8");
  EXPECT_NE(refusal(gossip).find("where --compress packs the weights that travel"),
            std::string::npos);
}

TEST(LiveJob, APageIsAtTheAddressOrAtAFreePort) {
  Train train;
  EXPECT_FALSE(train.job.output.dashboard);
  train.give("dashboard", "true");  // The option alone.
  EXPECT_EQ(train.job.output.dashboard->address, "127.0.0.1:0");
  train.give("dashboard", "10.0.0.1:8000");
  EXPECT_EQ(train.job.output.dashboard->address, "10.0.0.1:8000");
  EXPECT_TRUE(train.options.at("dashboard").takes_no_word());
  for (const char* wrong : {"nowhere", "unix:/tmp/s", ":80", "host:port"}) {
    EXPECT_NE(refusal_of([&] { train.give("dashboard", wrong); }), "accepted") << wrong;
  }
}

TEST(LiveJob, RefusesAPolicyThatTheTopologyDoesNotHave) {
  Train ring;
  ring.give("topology", "ring").give("policy", "ssp:s=3");
  EXPECT_EQ(refusal(ring),
            "--policy ssp:s=3 conflicts with --topology ring, which behaves like sync; remove "
            "--policy, or take --topology ps");
}

TEST(LiveJob, AGossipTakesTwoWorkersAndNoOptionOfARing) {
  Train alone;
  alone.give("topology", "gossip").give("workers", "1");
  EXPECT_EQ(refusal(alone), "--workers is 1; a gossip takes at least 2");
  Train buckets;
  buckets.give("bucket-kib", "4");
  EXPECT_EQ(refusal(buckets),
            "--bucket-kib conflicts with --topology ps: it belongs to --topology ring; remove it");
}

TEST(LiveJob, HowAGossipAveragesIsOfAGossip) {
  Train ring;
  ring.give("topology", "ring").give("gossip", "free");
  EXPECT_EQ(refusal(ring),
            "--gossip conflicts with --topology ring: it belongs to --topology gossip; remove it");
  Train served;
  served.give("graph", "ring");
  EXPECT_EQ(refusal(served),
            "--graph conflicts with --topology ps: it belongs to --topology gossip; remove it");
  Train gossip;
  gossip.give("topology", "gossip").give("gossip", "push");
  EXPECT_EQ(refusal(gossip), "accepted");
  EXPECT_EQ(gossip.job.gossip.graph, worker::Graph::kComplete);
}

TEST(LiveJob, SlicesAreOfAServersWorkers) {
  Train ring;
  ring.give("topology", "ring").give("slice", "1MiB");
  EXPECT_EQ(refusal(ring),
            "--slice conflicts with --topology ring: it belongs to a parameter server; remove it");
  Train served;
  served.give("slice", "0");
  EXPECT_EQ(refusal(served), "accepted");
}

TEST(LiveJob, AnInterfaceAndLeaveToGoWithoutTlsGoTogether) {
  Train open;
  open.give("topology", "ring").give("peer-interface", "eth0");
  EXPECT_NE(refusal(open).find("--peer-interface eth0: what workers say"), std::string::npos);
  open.give("insecure-no-tls", "true");
  EXPECT_EQ(refusal(open), "accepted");
}

TEST(LiveJob, AnAddressBeyondThisMachineTakesLeave) {
  EXPECT_EQ(refusal_of([] { check({.listen = "127.0.0.1:7000"}, kNoCertificate, "job"); }),
            "accepted");
  EXPECT_EQ(refusal_of([] { check({.listen = "0.0.0.0:7000"}, kNoCertificate, "job"); }),
            "--listen 0.0.0.0:7000 reaches beyond this machine, and traffic would travel "
            "unencrypted: make certificates with `outpace certs job` or add --insecure-no-tls");
  EXPECT_EQ(refusal_of([] {
              check({.listen = "0.0.0.0:7000", .insecure_no_tls = true}, kNoCertificate, "job");
            }),
            "accepted");
}

TEST(LiveJob, AnAddressBeyondThisMachineTakesACertificateInsteadOfLeave) {
  EXPECT_EQ(refusal_of([] { check({.listen = "0.0.0.0:7000"}, "job/server.pem", "job"); }),
            "accepted");
  EXPECT_EQ(refusal_of([] {
              check({.listen = "0.0.0.0:7000", .insecure_no_tls = true}, "job/server.pem", "job");
            }),
            "--insecure-no-tls conflicts with job/server.pem, which is beside the token file: "
            "workers would take TLS; remove --insecure-no-tls, or move the certificates away");
  EXPECT_EQ(refusal_of([] {
              check(
                  {.listen = "0.0.0.0:7000", .tls = {.certificate = "a"}, .insecure_no_tls = true},
                  "a",
                  "job");
            }),
            "--insecure-no-tls conflicts with --tls-cert; remove one");
}

TEST(LiveJob, ARingTakesNoCertificate) {
  Train ring;
  ring.give("topology", "ring").give("tls-ca", "ca.pem");
  EXPECT_EQ(refusal(ring),
            "--tls-ca conflicts with --topology ring: it belongs to a parameter server; remove it");
}

TEST(LiveJob, ARingOfSeveralMachinesSaysHowManyWorkersAreHere) {
  const auto why = [](const std::vector<std::pair<std::string, std::string>>& given) {
    Train ring;
    ring.give("topology", "ring").give("workers", "4");
    for (const auto& [option, value] : given) {
      ring.give(option, value);
    }
    return refusal(ring);
  };
  EXPECT_EQ(why({{"listen", "10.0.0.1:4000"}, {"workers-here", "0"}}), "accepted");
  EXPECT_EQ(why({{"listen", "10.0.0.1:4000"}, {"workers-here", "2"}, {"peer-interface", "eth0"}}),
            "accepted");
  EXPECT_EQ(why({{"listen", "10.0.0.1:4000"}}),
            "--listen under --topology ring: say how many of the workers are on this machine, such "
            "as --workers-here 2");
  EXPECT_EQ(why({{"workers-here", "2"}}),
            "--workers-here without --listen under --topology ring: nobody can join; add --listen "
            "HOST:PORT");
  EXPECT_EQ(
      why({{"listen", "10.0.0.1:4000"}, {"workers-here", "0"}, {"weights", "w"}}),
      "--weights with --workers-here 0 under --topology ring: a worker of this machine has to "
      "begin with them");
}

TEST(LiveJob, TheFilesOfTlsReachAChildProcess) {
  WorkerJob told{.tls = {.certificate = "a b", .key = "k", .ca = "/c"}};
  OptionList options;
  declare(options, told);
  Declared<WorkerJob> child;
  set_layers(child.options,
             {from_toml(resolved_toml("worker", options), "worker.toml", child.options)});
  EXPECT_EQ(child.job.tls.certificate, "a b");
  EXPECT_EQ(child.job.tls.key, "k");
  EXPECT_EQ(child.job.tls.ca, "/c");
}

TEST(LiveJob, TheOptionsOfEachJobHaveNamesOfTheirOwn) {
  // OptionList refuses a second option of a name.
  EXPECT_NE(Declared<ServerJob>().options.find("token-file"), nullptr);
  EXPECT_NE(Declared<WorkerJob>().options.find("worker"), nullptr);
  EXPECT_NE(Declared<EvaluatorJob>().options.find("network"), nullptr);
  EXPECT_NE(Declared<PeerJob>().options.find("encrypt"), nullptr);
}

}  // namespace
}  // namespace outpace::job
