#include "job/plan_job.h"

#include <cmath>

#include "base/error.h"

namespace outpace::job {
namespace {

constexpr double kCostLeast = 1e-9;
constexpr double kCostMost = 1e12;
constexpr double kTopMost = 1000;

void declare_choices(OptionList& options, PlanJob& job) {
  options.add("workers", job.workers, "Numbers of workers to choose from: 8, 1,2,4 or 1..64");
  options
      .add("policy",
           job.policies,
           "Policies to choose from, as in train, such as sync,async,backup:cutoff=90%, where 90% "
           "is a share of the workers (repeatable)")
      .type("POLICIES")
      .default_words(kPoliciesByDefault);
  options
      .add("topology", job.topologies, "Topologies to choose from: ps, ring or gossip (repeatable)")
      .type("TOPOLOGIES")
      .separated_by(',')
      .default_words("ps");
  options.add("shards",
              job.shards,
              "Numbers of shards of the server to choose from, each on a host of its own: 1 or "
              "1..4; train has no shards yet, and what it has is preferred");
}

void declare_objective(OptionList& options, PlanJob& job) {
  options.add("worker-cost", job.worker_cost, "Cost of a worker's host per hour")
      .between(kCostLeast, kCostMost);
  options
      .add("server-cost",
           job.server_cost,
           "Cost of the host of one shard of the server per hour; 0 if it shares a worker's host")
      .between(0.0, kCostMost);
  options.add("objective",
              job.objective,
              "What to maximise. rate: examples per second. cost: examples for the cost. goodput: "
              "examples per second, each weighted by what it is worth to learning");
  options
      .add("target",
           job.target,
           "Take the cheapest cluster that reaches this rate in examples per second, or this "
           "goodput")
      .default_words("none");
  options
      .add("noise-scale",
           job.noise_scale,
           "With --objective goodput: the gradient's noise scale, in examples")
      .default_words("as --noise-from says");
  options
      .add("noise-from",
           job.noise_from,
           "With --objective goodput: directory of a run that measured the noise scale")
      .type("DIR");
  options.add("top", job.top, "Number of clusters to show").between(1, kTopMost);
}

void check_above_zero(const std::string& option, double value, const std::string& takes) {
  if (!(std::isfinite(value) && value > 0.0)) {  // This refuses NaN, too.
    throw usage_error("--" + option + " is " + number_text(value) + "; it takes " + takes +
                      " above 0");
  }
}

void check_noise(const PlanJob& job) {
  if (job.objective == Objective::kGoodput && job.cluster.local_steps) {
    throw usage_error(
        "--local-steps conflicts with --objective goodput, which knows the worth of "
        "gradients alone; remove one");
  }
  const bool from_run = !job.noise_from.empty();
  if (job.noise_scale && from_run) {
    throw usage_error(
        "--noise-scale conflicts with --noise-from: both give the noise scale; remove one");
  }
  const bool given = job.noise_scale || from_run;
  if (job.objective != Objective::kGoodput && given) {
    throw usage_error(std::string(from_run ? "--noise-from" : "--noise-scale") +
                      " conflicts with --objective " + Value<Objective>::text(job.objective) +
                      ": it is for goodput; remove it, or say --objective goodput");
  }
  if (job.objective == Objective::kGoodput && !given) {
    throw usage_error(
        "--objective goodput takes the gradient's noise scale; add --noise-scale 850, in examples, "
        "or --noise-from RUN");
  }
  if (job.noise_scale) {
    check_above_zero("noise-scale", *job.noise_scale, "a number of examples");
  }
}

}  // namespace

void declare(OptionList& options, PlanJob& job) {
  options.add("profile", job.profile, "Profile that outpace profile or outpace calibrate wrote")
      .type("FILE")
      .positional()
      .required();
  declare_choices(options, job);
  declare_objective(options, job);
  declare(options, job.cluster);
  declare_workers_per_node(options, job.placing);
  declare_placed_batch(options, job.placing);
  options.add("json", job.json, "Print the result as one JSON object on standard output");
}

void check(const OptionList& options, const PlanJob& job, ProfileKind kind) {
  if (kind == ProfileKind::kMeasured) {
    refuse_with(options, kind, {"workers-per-node", "batch"});
    check_most("workers", job.workers, kModelledWorkersMost);
    check_most("shards", job.shards, kModelledShardsMost);
    check(job.cluster, job.topologies);
  } else {
    std::vector<std::string> others = modelled_cluster_options();
    others.emplace_back("shards");
    refuse_with(options, kind, others);
  }
  if (job.target) {
    check_above_zero("target", *job.target, "a number of examples per second");
  }
  check_noise(job);
}

}  // namespace outpace::job
