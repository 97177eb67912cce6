#include "job/modelled_cluster.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "job/declared_test.h"

namespace outpace::job {
namespace {

using Modelled = Declared<ModelledCluster>;

std::string refusal(const Modelled& modelled) {
  return refusal_of([&] { check(modelled.job, {}); });
}

TEST(ModelledCluster, ListsItsOptions) {
  const auto& names = modelled_cluster_options();
  EXPECT_NE(std::ranges::find(names, "send-window"), names.end());
  EXPECT_NE(std::ranges::find(names, "slow"), names.end());
}

TEST(ModelledCluster, ARuntimeConflictsWithWhatItIncludes) {
  EXPECT_EQ(refusal(Modelled().give("runtime", "constant(1s)")), "accepted");
  EXPECT_NE(refusal(Modelled().give("runtime", "constant(1s)").give("delays", "t.csv"))
                .find("--runtime conflicts with --delays"),
            std::string::npos);
  EXPECT_NE(refusal(Modelled().give("runtime", "constant(1s)").give("cores", "2"))
                .find("--runtime conflicts with --cores"),
            std::string::npos);
}

TEST(ModelledCluster, PacksAsTrainDoes) {
  EXPECT_EQ(
      refusal(Modelled().give("compress", "topk:share=0.02,bits=2").give("compress-rate", "3")),
      "accepted");
  EXPECT_NE(refusal(Modelled().give("compress", "int3")).find("unknown compression 'int3'"),
            std::string::npos);
  EXPECT_NE(refusal(Modelled().give("compress-weights", "fp16")).find("'fp16'"), std::string::npos);
  EXPECT_NE(refusal(Modelled().give("compress-rate", "3")).find("nothing is packed"),
            std::string::npos);
  Modelled delta;
  delta.give("compress-weights", "delta");
  const auto with = [&](const std::vector<std::string>& topologies) {
    return refusal_of([&] { check(delta.job, topologies); });
  };
  EXPECT_EQ(with({"ring", "ps"}), "accepted");
  EXPECT_NE(with({"ring"}).find("--compress-weights belongs to --topology ps"), std::string::npos);
  delta.give("compress-weights", "none").give("compress", "topk");
  EXPECT_EQ(with({"ring"}), "accepted");
  EXPECT_NE(with({"ring", "gossip"}).find("conflicts with --topology gossip"), std::string::npos);
  delta.give("compress", "int8");
  EXPECT_EQ(with({"gossip"}), "accepted");
}

TEST(ModelledCluster, AGossipIsThatOfTrain) {
  const auto refusal_with = [](Modelled& modelled, const std::vector<std::string>& topologies) {
    return refusal_of([&] { fit_gossip(modelled.options, topologies, modelled.job); });
  };
  Modelled pull;
  pull.give("gossip", "pull");
  EXPECT_EQ(refusal_with(pull, {"ps", "gossip"}), "accepted");
  EXPECT_EQ(pull.job.gossip.graph, worker::Graph::kComplete);
  EXPECT_EQ(refusal_with(pull, {"ps"}),
            "--gossip belongs to --topology gossip; remove it, or add gossip to --topology");
  Modelled elastic;
  elastic.give("gossip", "easgd");
  EXPECT_EQ(refusal_with(elastic, {"gossip"}), "accepted");
  EXPECT_EQ(elastic.job.gossip.average_every, 10);
  elastic.give("graph", "ring");
  EXPECT_NE(refusal_with(elastic, {"gossip"}).find("--graph conflicts with --gossip easgd"),
            std::string::npos);
  Modelled complete;
  complete.give("graph", "complete");
  EXPECT_NE(refusal_with(complete, {"gossip"}).find("--graph complete conflicts"),
            std::string::npos);
}

TEST(ModelledCluster, AnIntervalTakesTwentyIterations) {
  EXPECT_EQ(refusal(Modelled().give("iterations", "20")), "accepted");
  EXPECT_EQ(refusal(Modelled().give("iterations", "19")),
            "--iterations is 19; it takes 20 to 100000, or 0 for the default");
}

}  // namespace
}  // namespace outpace::job
