#include "cli/topology.h"

#include <array>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace outpace::cli {
namespace {

constexpr const char* kRing = "ring";
constexpr const char* kGossip = "gossip";

// What a server does, or needs to be told.
constexpr std::array kOfServer{"balance",
                               "balance-most",
                               "runtime-model",
                               "staleness",
                               "filter",
                               "reduce",
                               "min-workers",
                               "listen",
                               "trace",
                               "restart-workers",
                               "token-file",
                               "launcher",
                               "attack"};

// With another value than its default: a run's config.toml has every option, to be run again.
bool given(const CLI::App& command, const std::string& option) {
  const CLI::Option* found = command.get_option_no_throw("--" + option);
  if (found == nullptr || found->count() == 0) {
    return false;
  }
  const std::string usual = found->get_default_str();
  return usual.empty() || found->results().front() != usual;
}

void refuse(const CLI::App& command,
            const JobOptions& options,
            const std::string& option,
            const std::string& of) {
  if (given(command, option)) {
    throw usage_error("--" + option + " beside --topology " + options.topology + ": it is " + of +
                      "; leave it out");
  }
}

}  // namespace

void add_topology_options(CLI::App& command, JobOptions& options) {
  command.add_option(
      "--topology",
      options.topology,
      "ps: a parameter server. ring: all-reduce, like --policy sync. gossip: neighbours average "
      "their weights (AD-PSGD). Without a server there is no --policy, --staleness, --filter, "
      "--balance, --runtime-model, --reduce, --attack, --trace, --listen, --min-workers, "
      "--restart-workers, and no "
      "launcher; no --lr-scale in a gossip");
  command.add_option("--peer-interface",
                     options.peer_interface,
                     "Of a ring or gossip: the network interface by which workers talk to each "
                     "other, unencrypted (default: loopback; another takes --insecure-no-tls)");
  command.add_option("--bucket-kib",
                     options.bucket_kib,
                     "Of a ring: KiB of gradient that are summed at a time, at least");
}

void fit_topology(const CLI::App& command, JobOptions& options) {
  if (options.topology == kServerTopology) {
    refuse(command, options, "bucket-kib", "of --topology ring");
    refuse(command, options, "peer-interface", "of --topology ring or gossip");
    return;
  }
  const bool ring = options.topology == kRing;
  if (!ring && options.topology != kGossip) {
    throw usage_error("--topology is '" + options.topology + "'; it takes ps, ring or gossip");
  }
  for (const char* option : kOfServer) {
    refuse(command, options, option, "of a parameter server");
  }
  if (options.peer_interface.empty() == options.insecure_no_tls) {
    throw usage_error(options.insecure_no_tls
                          ? "--insecure-no-tls beside --topology " + options.topology +
                                ": it goes with --peer-interface; leave it out"
                          : "--peer-interface " + options.peer_interface +
                                ": what workers say to each other is not encrypted; add "
                                "--insecure-no-tls if all on that network may read it");
  }
  const std::string like = ring ? "sync" : "async";
  if (given(command, "policy") && options.policy != like) {
    throw usage_error("--policy " + options.policy + " beside --topology " + options.topology +
                      ": nobody decides there, and all is as under " + like +
                      "; leave --policy out, or take --topology ps");
  }
  options.policy = like;
  constexpr std::uint32_t kBucketKibMost = 1U << 20U;
  if (options.bucket_kib < 1 || options.bucket_kib > kBucketKibMost) {
    throw usage_error("--bucket-kib is " + std::to_string(options.bucket_kib) + "; it takes 1 to " +
                      std::to_string(kBucketKibMost));
  }
  if (!ring) {
    refuse(command, options, "lr-scale", "of updates of several gradients");
    refuse(command, options, "bucket-kib", "of --topology ring");
    if (options.workers < 2) {
      throw usage_error("--workers is " + std::to_string(options.workers) +
                        "; a gossip takes at least 2");
    }
  }
}

collective::Topology without_server(const JobOptions& options) {
  CHECK(options.topology == kRing || options.topology == kGossip);
  return options.topology == kRing ? collective::Topology::kRing : collective::Topology::kGossip;
}

}  // namespace outpace::cli
