#include "cli/simulated_links.h"

#include "base/error.h"
#include "base/spec.h"
#include "cli/options.h"
#include "network/platform.h"
#include "network/shapes.h"
#include "network/units.h"

namespace outpace::cli {
namespace {

constexpr double kBytesPerNumber = 4;  // float32

network::Topology make_topology(const LinkOptions& options, std::uint32_t workers) {
  if (options.platform.empty()) {
    const auto bandwidth = network::parse_bandwidth(options.bandwidth);
    if (!bandwidth) {
      throw usage_error("--bandwidth is '" + options.bandwidth +
                        "'; it takes a bandwidth above 0 such as 1Gbps or 125MBps");
    }
    return network::make_shape(Spec::parse(options.shape.empty() ? "star" : options.shape),
                               {.hosts = std::uint64_t{workers} + 1, .bandwidth = *bandwidth});
  }
  network::Topology topology =
      network::parse_platform(read_file("platform", options.platform), options.platform);
  if (topology.hosts.size() <= workers) {
    throw usage_error("--platform " + options.platform + ": too few hosts, " +
                      std::to_string(topology.hosts.size()) + "; the server and " +
                      std::to_string(workers) + " workers take one each");
  }
  return topology;
}

}  // namespace

void add_link_options(CLI::App& command, LinkOptions& options) {
  command.add_option("--platform",
                     options.platform,
                     "Gradients and weights share the links of this platform file of SimGrid's; "
                     "the server is its first host");
  command.add_option(
      "--bandwidth", options.bandwidth, "They share links of this bandwidth: 1Gbps or 125MBps");
  command.add_option("--shape",
                     options.shape,
                     "With --bandwidth: star[:latency=25us] (default), "
                     "tree:racks=4[,oversubscription=4] or fat-tree[:k=8]");
  command.add_option(
      "--payload", options.payload, "Without --learn: of a gradient, and of the weights: 400kB");
}

void check_links(const LinkOptions& options, bool learns) {
  if (options.platform.empty() && options.bandwidth.empty()) {
    for (const auto& [name, value] :
         {std::pair{"shape", options.shape}, std::pair{"payload", options.payload}}) {
      if (!value.empty()) {
        throw usage_error("--" + std::string(name) +
                          " without --bandwidth or --platform: there are no links");
      }
    }
    return;
  }
  for (const auto& [name, value] :
       {std::pair{"bandwidth", options.bandwidth}, std::pair{"shape", options.shape}}) {
    if (!options.platform.empty() && !value.empty()) {
      throw usage_error("--" + std::string(name) +
                        " beside --platform: both describe the links; leave one out");
    }
  }
  if (learns && !options.payload.empty()) {
    throw usage_error("--payload beside --learn: the network says how large a gradient is");
  }
  if (!learns && options.payload.empty()) {
    throw usage_error("--payload is missing: how large is a gradient? write --payload 400kB");
  }
}

std::optional<sim::Transfers::Options> make_links(const LinkOptions& options,
                                                  std::uint32_t workers,
                                                  const protocol::Manifest* manifest) {
  if (options.platform.empty() && options.bandwidth.empty()) {
    return std::nullopt;
  }
  const auto payload = manifest == nullptr
                           ? network::parse_bytes(options.payload)
                           : kBytesPerNumber * static_cast<double>(manifest->numbers());
  if (!payload) {
    throw usage_error("--payload is '" + options.payload +
                      "'; it takes a size with its unit such as 400kB or 64MiB");
  }
  return sim::Transfers::Options{.topology = make_topology(options, workers), .payload = *payload};
}

}  // namespace outpace::cli
