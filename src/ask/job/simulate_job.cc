#include "job/simulate_job.h"

#include <utility>

#include "base/error.h"
#include "policy/switch_spec.h"

namespace outpace::job {
namespace {

constexpr double kShardsMost = 4096;

void declare_cluster(OptionList& options, SimulatedCluster& cluster) {
  options
      .add("runtime",
           cluster.runtime,
           "How long workers take for a mini-batch: a distribution, or classes of workers such as "
           "'28*lognormal(mean=100ms,cv=0.3),2*constant(400ms)'")
      .type("DISTRIBUTION")
      .default_words(kRuntimeByDefault);
  options.add("compute",
              cluster.compute,
              "With --delays: time that computing a mini-batch takes on top of the delay");
  options.add(
      "cores",
      cluster.cores,
      "With --compute: number of processors that the workers share; 0: one for each worker");
  options.add("latency", cluster.latency, "Latency of every message, each way");
  options.add("apply",
              cluster.apply,
              "Time that the server needs for a gradient, divided by --shards; gradients queue for "
              "it");
  declare_steps_ahead(options, cluster.steps_ahead);
  options.add("oracle",
              cluster.oracle,
              "With --policy sync: choose each cutoff with knowledge of the coming runtimes, for "
              "the most gradients per second: an upper bound for every cutoff");
  options
      .add("fault",
           cluster.faults,
           "Inject a fault: crash, leave, join, slow, pause, hang, server, partition, clog, delay, "
           "lose, duplicate, reorder, foreign, double or evaluator, such as "
           "crash:worker=3,at=10s,for=5s; docs/simulation.md lists their options (repeatable)")
      .type("SPEC");
}

void declare_links(OptionList& options, SimulatedLinks& links) {
  options
      .add("platform",
           links.platform,
           "SimGrid platform file whose links gradients and weights share")
      .type("FILE");
  options.add("bandwidth",
              links.bandwidth,
              "Bandwidth of the links that gradients and weights share, such as 1Gbps or 125MBps");
  options
      .add("shape",
           links.shape,
           "With --bandwidth: star[:latency=25us], tree:racks=4[,oversubscription=4] or "
           "fat-tree[:k=8]")
      .default_words("star");
  options.add("payload",
              links.payload,
              "Without --learn: size of a gradient and of the weights, such as 400kB");
  options
      .add("shards",
           links.shards,
           "With --bandwidth or --apply: number of parts of the server, each on a host of its own "
           "with an equal part of the weights")
      .between(1, kShardsMost);
  declare_send_window(options, links.send_window);
  options
      .add("server-host",
           links.server_hosts,
           "Hosts of the server or of its shards, by name or by number from 0: host3,host7")
      .separated_by(',')
      .default_words("the first hosts");
}

void check_without_numbers(const SimulateJob& job) {
  for (const auto& [name, spec] :
       {std::pair("--compress", job.training.compress),
        std::pair("--compress-weights", job.training.compress_weights)}) {
    if (spec.text != "none" && !job.links.any() && !job.peers.any()) {
      throw usage_error(std::string(name) +
                        " without --learn, --bandwidth or --platform: nothing is sent that takes "
                        "bytes; add --learn mlp, or links");
    }
  }
}

void check_without_learning(const SimulateJob& job) {
  if (job.learn) {
    return;
  }
  if (job.training.target_accuracy) {
    throw usage_error("--target-accuracy without --learn: nothing is learnt; add --learn mlp");
  }
  if (policy::waits_for_learning(job.training.policy)) {
    throw usage_error("--policy '" + job.training.policy.text +
                      "' needs a loss, an accuracy or gradients, and without --learn nothing is "
                      "learnt; add --learn mlp, or let a switch wait for updates or seconds");
  }
  check_without_numbers(job);
  for (const auto& [name, given] : {std::pair("--filter", job.training.filter.text != "none"),
                                    std::pair("--attack", !job.attacks.empty())}) {
    if (given) {
      throw usage_error(std::string(name) +
                        " without --learn: there are no gradients; add --learn mlp");
    }
  }
  if (job.examples < 1) {
    throw usage_error("--examples is 0; it takes at least 1");
  }
}

void check_times(const SimulateJob& job) {
  if (job.delays.file.empty()) {
    if (job.cluster.compute != Duration{} || job.cluster.cores != 0) {
      throw usage_error("--compute and --cores go with --delays; --runtime includes both");
    }
    return;
  }
  if (!job.cluster.runtime.empty()) {
    throw usage_error(
        "--runtime conflicts with --delays: both say how long workers take; remove one");
  }
}

void check_no_links(const SimulateJob& job) {
  const SimulatedLinks& links = job.links;
  for (const auto& [name, given] : {std::pair{"shape", links.shape.has_value()},
                                    std::pair{"payload", links.payload.has_value()},
                                    std::pair{"send-window", links.send_window.has_value()},
                                    std::pair{"server-host", !links.server_hosts.empty()}}) {
    if (given) {
      throw usage_error("--" + std::string(name) +
                        " without --bandwidth or --platform: there are no links");
    }
  }
  if (links.shards > 1 && job.cluster.apply <= Duration{}) {
    throw usage_error(
        "--shards without --bandwidth, --platform or --apply: a server that costs "
        "nothing has nothing to divide");
  }
}

void check_links(const SimulateJob& job) {
  const SimulatedLinks& links = job.links;
  if (!links.any()) {
    check_no_links(job);
    return;
  }
  for (const auto& [name, given] : {std::pair{"bandwidth", links.bandwidth.has_value()},
                                    std::pair{"shape", links.shape.has_value()}}) {
    if (!links.platform.empty() && given) {
      throw usage_error("--" + std::string(name) +
                        " conflicts with --platform: both describe the links; remove one");
    }
  }
  if (job.learn && links.payload) {
    throw usage_error("--payload conflicts with --learn: the network says how large a gradient is");
  }
  if (!job.learn && !links.payload) {
    throw usage_error("--payload is missing: how large is a gradient? write --payload 400kB");
  }
}

}  // namespace

void declare_send_window(OptionList& options, std::optional<Bytes>& send_window) {
  options
      .add("send-window",
           send_window,
           "Bytes of one worker's weights that the server sends before it turns to the next "
           "worker, such as 1MiB")
      .default_words("all at the same time");
}

double window_bytes(const std::optional<Bytes>& send_window) {
  constexpr double kLeast = 1000.0;  // Less than a packet: each window is an event of its own.
  if (!send_window) {
    return 0.0;
  }
  if (!(send_window->bytes >= kLeast)) {
    throw usage_error("--send-window is '" + send_window->text +
                      "'; it takes a size with its unit, at least 1kB, such as 64kB or 1MiB");
  }
  return send_window->bytes;
}

void declare(OptionList& options, SimulateJob& job) {
  declare(options, job.training);
  declare_trace_and_json(options, job.output);
  declare(options, job.delays);
  declare_attacks(options, job.attacks);
  declare_cluster(options, job.cluster);
  declare_links(options, job.links);
  declare(options, job.peers);
  options.add("learn",
              job.learn,
              std::string("Compute every gradient of this network for real, on the weights of the "
                          "right version: ") +
                  kNetworks);
  options.add("data", job.data, std::string("Data set for --learn: ") + kDataSets);
  options.add("examples", job.examples, "Without --learn: number of examples in the data set");
  options.add("out", job.output.out, "Record the run in this directory").type("DIR");
  options.add("heartbeat-timeout",
              job.heartbeat_timeout,
              "With a fault that can silence a worker: declare it dead when it has been silent for "
              "this time");
  options.add("progress-timeout",
              job.progress_timeout,
              "With a fault hang: wait no longer for a worker that has been at a mini-batch for "
              "this time; auto as in a live run");
}

void check(const SimulateJob& job) {
  if (job.cluster.oracle && job.training.policy.text != "sync") {
    throw usage_error("--oracle conflicts with --policy " + job.training.policy.text +
                      ": the oracle chooses the cutoffs of synchronous updates; say --policy sync");
  }
  check_steps_ahead(
      job.cluster.steps_ahead, job.training.local_steps.has_value(), job.cluster.cores);
  check_without_learning(job);
  check_times(job);
  check_links(job);
  (void)parse_attacks(job.attacks, workers_at_most(job.training));
}

}  // namespace outpace::job
