// For tests: runs a cluster without links, described in a few words.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/catalogue.h"
#include "sim/cluster.h"

namespace outpace::sim {

struct Job {
  std::string policy = "async";
  std::string runtime = "exponential(mean=100ms)";
  std::uint32_t workers = 8;
  std::uint32_t batch = 4;
  std::uint64_t examples = 64;
  server::Limits limits{.updates = 1000};
  std::uint64_t seed = 1;
  std::string staleness = "none";
  Duration latency{};
  Duration apply{};
  std::vector<std::string> faults;
  worker::GradientSource* gradients = nullptr;
  std::optional<policy::BalanceOptions> balance = std::nullopt;
  bool oracle = false;
};

inline ClusterResult run(const Job& job) {
  ClusterOptions options;
  options.policy = Spec::parse(job.policy);
  options.policy_inputs.balance = job.balance;
  options.oracle = job.oracle;
  options.coordinator = {.workers = job.workers,
                         .batch = job.batch,
                         .examples = job.examples,
                         .seed = job.seed,
                         .limits = job.limits};
  options.shard.optimizer = Spec::parse("sgd");
  options.latency = job.latency;
  options.apply = job.apply;
  for (const std::string& fault : job.faults) {
    options.faults.push_back(parse_fault(fault, job.workers));
  }
  options.coordinator.staleness = update::StalenessRule::parse(Spec::parse(job.staleness));
  if (job.gradients != nullptr) {  // Each example of an update moves its number by one.
    const auto policy = policy::make_policy(options.policy, job.workers);
    options.coordinator.rate = double(job.batch) * double(policy->nominal_cutoff(job.workers));
    options.coordinator.rate_scale = update::RateScale::kLinear;
  }
  DrawnTiming timing(
      Runtimes::parse(job.runtime, {.workers = job.workers, .seed = job.seed, .read_file = {}}),
      {});
  std::optional<Learning> learning;
  if (job.gradients != nullptr) {
    learning.emplace(Learning{*job.gradients});
  }
  Cluster cluster(options, timing, learning ? &*learning : nullptr, nullptr, nullptr);
  return cluster.run();
}

}  // namespace outpace::sim
