#include "job/peer_packing.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "job/live_job.h"

namespace outpace::job {
namespace {

std::string refusal(Topology topology, const std::string& compress, const std::string& weights) {
  TrainJob job;
  OptionList options;
  declare(options, job);
  options.find("compress-weights")->set({weights}, "--compress-weights");
  try {
    check_packing(options, topology, Spec::parse(compress));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(PeerPacking, ARingPacksGradientsAlone) {
  EXPECT_EQ(refusal(Topology::kRing, "topk:share=0.05", "none"), "accepted");
  EXPECT_EQ(refusal(Topology::kRing, "int8", "bf16"),
            "--compress-weights conflicts with --topology ring, where --compress packs gradients, "
            "and no weights travel; remove it");
}

TEST(PeerPacking, AGossipPacksWholeWeights) {
  EXPECT_EQ(refusal(Topology::kGossip, "int8", "none"), "accepted");
  EXPECT_NE(refusal(Topology::kGossip, "topk", "none").find("weights that are not sent are not 0"),
            std::string::npos);
  EXPECT_NE(refusal(Topology::kGossip, "int8:feedback=0.5", "none").find("remove feedback"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::job
