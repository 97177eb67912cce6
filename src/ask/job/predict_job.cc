#include "job/predict_job.h"

#include <algorithm>

#include "base/error.h"
#include "job/policy_list.h"

namespace outpace::job {
namespace {

constexpr double kNodesMost = 1'000'000;

void declare_sweep(OptionList& options, PredictJob& job) {
  options.add("workers", job.workers, "Numbers of workers to predict: 8, 1,2,4 or 1..64")
      .default_words(kWorkersByDefault);
  options
      .add("policy",
           job.policies,
           "Policies to predict, as in train, such as sync,async,ssp:s=3 (repeatable)")
      .type("POLICIES")
      .default_words(kPoliciesByDefault);
  options.add("topology", job.topologies, "Topologies to predict: ps, ring or gossip (repeatable)")
      .type("TOPOLOGIES")
      .separated_by(',')
      .default_words("ps");
  options.add("shards",
              job.shards,
              "Numbers of shards of the server to predict: 1 or 1..4; train has no shards yet");
  options
      .add("models",
           job.models,
           "Models to predict with: fine simulates every message, coarse computes a formula")
      .separated_by(',');
}

void declare_configurations(OptionList& options, PredictJob& job) {
  options
      .add("configurations",
           job.configurations,
           "With a calibrated profile: CSV of configurations to predict, with the columns workers, "
           "nodes and batch_per_worker; with iteration_seconds too, the errors are shown")
      .type("FILE");
  options
      .add("nodes", job.placing.nodes, "With --workers and a calibrated profile: number of nodes")
      .default_words("as --workers-per-node says")
      .between(1, kNodesMost);
}

// One value at most of an option of which a measured profile takes several.
void check_one(const std::string& option, std::size_t values) {
  if (values > 1) {
    throw usage_error("--" + option + " has " + std::to_string(values) +
                      " values; with a calibrated profile it takes one");
  }
}

void check_calibrated(const PredictJob& job) {
  if (job.configurations.empty() == !job.workers.has_value()) {
    throw usage_error(
        "predict takes either --configurations TABLE.csv or --workers 1..64 with a calibrated "
        "profile");
  }
  if (job.placing.nodes && job.placing.workers_per_node) {
    throw usage_error(
        "--nodes conflicts with --workers-per-node: each follows from the other; remove one");
  }
  check_one("policy", job.policies.size());
  check_one("topology", job.topologies.size());
}

// A trace is of one configuration.
void check_trace(const PredictJob& job) {
  const auto check_single = [](const char* option, std::size_t values) {
    if (values != 1) {
      throw usage_error(std::string("--trace takes one configuration, and --") + option + " has " +
                        std::to_string(values) + " values; give one");
    }
  };
  check_single("workers", workers_in_force(job).size());
  check_single("topology", std::max<std::size_t>(1, job.topologies.size()));
  if (job.topologies.empty() || job.topologies.front() == "ps") {
    check_single("policy", policies_in_force(job.policies).size());
    check_single("shards", job.shards.counts.size());
  }
  if (job.cluster.local_steps) {
    throw usage_error(
        "--trace conflicts with --local-steps: it shows a push for each mini-batch; "
        "remove one");
  }
}

void check_measured(const PredictJob& job) {
  check_most("workers", job.workers.value_or(count_list(kWorkersByDefault)), kModelledWorkersMost);
  check_most("shards", job.shards, kModelledShardsMost);
  check(job.cluster, job.topologies);
  if (!job.trace.empty()) {
    check_trace(job);
  }
}

}  // namespace

ProfileKind profile_kind(const std::string& word, const std::string& path) {
  const auto kind = Value<ProfileKind>::parse(word);
  if (!kind) {
    throw usage_error(path + ": kind is '" + word + "'; it takes " + Value<ProfileKind>::takes());
  }
  return *kind;
}

void declare_workers_per_node(OptionList& options, Placing& placing) {
  options
      .add("workers-per-node",
           placing.workers_per_node,
           "With a calibrated profile: number of workers on each node")
      .default_words("the most that were measured")
      .between(1, kNodesMost);
}

void declare_placed_batch(OptionList& options, Placing& placing) {
  options
      .add("batch",
           placing.batch,
           "With a calibrated profile: number of examples in a worker's mini-batch")
      .default_words("the one that was measured")
      .between(kPlacedBatchLeast, kPlacedBatchMost);
}

void declare(OptionList& options, PredictJob& job) {
  options.add("profile", job.profile, "Profile that outpace profile or outpace calibrate wrote")
      .type("FILE")
      .positional()
      .required();
  declare_sweep(options, job);
  declare(options, job.cluster);
  options.add("plot", job.plot, "Draw the predictions to this SVG file").type("FILE");
  options
      .add("trace",
           job.trace,
           "Write the elementary operations of one configuration to this file, as a Chrome trace "
           "for "
           "ui.perfetto.dev")
      .type("FILE");
  declare_configurations(options, job);
  declare_workers_per_node(options, job.placing);
  declare_placed_batch(options, job.placing);
  options.add("json", job.json, "Print the result as one JSON object on standard output");
}

void refuse_with(const OptionList& options,
                 ProfileKind kind,
                 const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (options.at(name).changed()) {
      const bool measured = kind == ProfileKind::kMeasured;
      throw usage_error("--" + name + " conflicts with a " + Value<ProfileKind>::text(kind) +
                        " profile: it is for one that outpace " +
                        (measured ? "calibrate" : "profile") + " wrote; remove it");
    }
  }
}

void check(const OptionList& options, const PredictJob& job, ProfileKind kind) {
  if (kind == ProfileKind::kMeasured) {
    refuse_with(options, kind, {"configurations", "nodes", "workers-per-node", "batch"});
    check_measured(job);
    return;
  }
  std::vector<std::string> others = modelled_cluster_options();
  others.insert(others.end(), {"shards", "models", "plot", "trace"});
  refuse_with(options, kind, others);
  check_calibrated(job);
}

std::vector<std::uint32_t> workers_in_force(const PredictJob& job) {
  return job.workers.value_or(count_list(kWorkersByDefault)).counts;
}

std::vector<std::string> policies_in_force(const std::vector<std::string>& given) {
  return given.empty() ? split_policies({kPoliciesByDefault}) : split_policies(given);
}

}  // namespace outpace::job
