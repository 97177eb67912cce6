#include "job/modelled_cluster.h"

#include <algorithm>

#include "base/error.h"
#include "compress/format.h"
#include "compress/reference.h"
#include "job/simulate_job.h"

namespace outpace::job {

namespace {

void declare_packing(OptionList& options, ModelledPacking& packing) {
  constexpr double kRateLeast = 1e-3;
  constexpr double kRateMost = 1e3;
  options.add("compress",
              packing.gradients,
              "How workers pack what they push, or without a server send each other, as in train: "
              "none, bf16, fp16, int8, int4 or topk:share=0.01,bits=8");
  options.add("compress-weights",
              packing.weights,
              "How the server packs weights, as in train: none, bf16, int8 or delta; under delta "
              "all numbers are taken to change");
  options
      .add("compress-rate",
           packing.rate,
           "With --compress or --compress-weights: GB of float32 that a core packs, or unpacks, in "
           "a second")
      .default_words("the profile's, or as measured on one machine")
      .between(kRateLeast, kRateMost);
}

void check(const ModelledPacking& packing, const std::vector<std::string>& topologies) {
  const auto gradients = compress::Compression::parse(packing.gradients.text);
  (void)compress::parse_weights(packing.weights.text);
  if (packing.rate && !packing.any()) {
    throw usage_error(
        "--compress-rate without --compress or --compress-weights: nothing is packed; remove it");
  }
  const auto has = [&](const char* topology) {
    return std::ranges::find(topologies, topology) != topologies.end();
  };
  if (packing.weights.text != "none" && !topologies.empty() && !has("ps")) {
    throw usage_error(
        "--compress-weights belongs to --topology ps: --compress packs what workers of a ring or a "
        "gossip send each other; remove it, or add ps to --topology");
  }
  if (gradients.format.kind == compress::Kind::kTopK && has("gossip")) {
    throw usage_error("--compress " + gradients.name() +
                      " conflicts with --topology gossip: weights that are not sent are not 0; "
                      "take bf16 or int8, or remove gossip from --topology");
  }
}

}  // namespace

void declare(OptionList& options, ModelledCluster& cluster) {
  options
      .add("local-steps",
           cluster.local_steps,
           "Numbers of mini-batches that a worker steps by itself between two pushes, as in train: "
           "50 or 1,10,100")
      .default_words("a push for each mini-batch");
  declare_steps_ahead(options, cluster.steps_ahead);
  options
      .add("bandwidth", cluster.bandwidth, "Bandwidth of each host's link, each way, such as 1Gbps")
      .default_words("links cost no time");
  options.add("latency",
              cluster.latency,
              "Latency of a message, each way, in addition to the profile's own");
  options.add("slice",
              cluster.slice,
              "Least size of a slice of a gradient, as in train; 0: a worker computes between two "
              "whole transfers");
  options
      .add("bucket-kib",
           cluster.bucket_kib,
           "KiB of gradient, at least, that a ring sums at a time, as in train")
      .between(1, kBucketKibMost);
  declare_pace(options, cluster.gossip);
  declare_send_window(options, cluster.send_window);
  declare_packing(options, cluster.packing);
  options
      .add("runtime",
           cluster.runtime,
           "How long workers compute, instead of the profile's times: as in simulate, such as "
           "'lognormal(mean=100ms,cv=0.3)'")
      .type("DISTRIBUTION");
  options.add("plain", cluster.plain, "Use the coarse models without their heuristics");
  declare(options, cluster.delays);
  options.add(
      "cores", cluster.cores, "Number of processors that the workers share; 0: each has its own");
  options.add("iterations",
              cluster.iterations,
              "Iterations of each worker in the fine model; 0: 40, with --runtime 200, with "
              "--delays 600");
  options.add("seed", cluster.seed, "Seed of all that is drawn");
}

const std::vector<std::string>& modelled_cluster_options() {
  static const std::vector<std::string> kNames = [] {
    OptionList options;
    ModelledCluster cluster;
    declare(options, cluster);
    return options.names();
  }();
  return kNames;
}

void check(const ModelledCluster& cluster, const std::vector<std::string>& topologies) {
  check(cluster.packing, topologies);
  constexpr std::uint32_t kLocalStepsMost = 10'000;
  if (cluster.local_steps) {
    check_most("local-steps", *cluster.local_steps, kLocalStepsMost);
  }
  check_steps_ahead(cluster.steps_ahead, cluster.local_steps.has_value(), cluster.cores);
  constexpr std::uint32_t kIterationsLeast = 20;  // What an interval takes, after the start.
  constexpr std::uint32_t kIterationsMost = 100'000;
  if (cluster.iterations != 0 &&
      (cluster.iterations < kIterationsLeast || cluster.iterations > kIterationsMost)) {
    throw usage_error("--iterations is " + std::to_string(cluster.iterations) + "; it takes " +
                      std::to_string(kIterationsLeast) + " to " + std::to_string(kIterationsMost) +
                      ", or 0 for the default");
  }
  if (cluster.runtime.empty()) {
    return;
  }
  if (!cluster.delays.file.empty()) {
    throw usage_error(
        "--runtime conflicts with --delays: both say how long workers take; remove one");
  }
  if (cluster.cores != 0) {
    throw usage_error(
        "--runtime conflicts with --cores: a runtime includes what sharing costs; "
        "remove one");
  }
}

void fit_gossip(const OptionList& options,
                const std::vector<std::string>& topologies,
                ModelledCluster& cluster) {
  if (std::ranges::find(topologies, "gossip") != topologies.end()) {
    fit_gossip(options, cluster.gossip);
    return;
  }
  for (const char* const option : {"gossip", "graph", "average-every"}) {
    if (options.at(option).changed()) {
      throw usage_error("--" + std::string(option) +
                        " belongs to --topology gossip; remove it, or add gossip to --topology");
    }
  }
}

}  // namespace outpace::job
