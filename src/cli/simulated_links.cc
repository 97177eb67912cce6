#include "cli/simulated_links.h"

#include "base/error.h"
#include "base/spec.h"
#include "cli/options.h"
#include "links/platform.h"
#include "links/shapes.h"
#include "links/units.h"
#include "sim/placement.h"

namespace outpace::cli {
namespace {

constexpr double kBytesPerNumber = 4;  // float32
constexpr std::uint32_t kShardsMost = 4096;

links::Topology make_topology(const LinkOptions& options, std::uint32_t workers) {
  if (options.platform.empty()) {
    const auto bandwidth = links::parse_bandwidth(options.bandwidth);
    if (!bandwidth) {
      throw usage_error("--bandwidth is '" + options.bandwidth +
                        "'; it takes a bandwidth above 0 such as 1Gbps or 125MBps");
    }
    return links::make_shape(
        Spec::parse(options.shape.empty() ? "star" : options.shape),
        {.hosts = std::uint64_t{workers} + options.shards, .bandwidth = *bandwidth});
  }
  links::Topology topology =
      links::parse_platform(read_file("platform", options.platform), options.platform);
  if (topology.hosts.size() < std::uint64_t{workers} + options.shards) {
    throw usage_error(
        "--platform " + options.platform + ": too few hosts, " +
        std::to_string(topology.hosts.size()) + "; the server" +
        (options.shards == 1 ? "" : "'s " + std::to_string(options.shards) + " shards") + " and " +
        std::to_string(workers) + " workers take one each");
  }
  return topology;
}

}  // namespace

void add_link_options(CLI::App& command, LinkOptions& options) {
  command.add_option("--platform",
                     options.platform,
                     "Gradients and weights share the links of this platform file of SimGrid's");
  command.add_option(
      "--bandwidth", options.bandwidth, "They share links of this bandwidth: 1Gbps or 125MBps");
  command.add_option("--shape",
                     options.shape,
                     "With --bandwidth: star[:latency=25us] (default), "
                     "tree:racks=4[,oversubscription=4] or fat-tree[:k=8]");
  command.add_option(
      "--payload", options.payload, "Without --learn: of a gradient, and of the weights: 400kB");
  command.add_option("--shards",
                     options.shards,
                     "With --bandwidth or --apply: parts of the server, each on a host of its own "
                     "with as much of the weights");
  command.add_option("--send-window",
                     options.send_window,
                     "The server sends so much of one worker's weights before the next one's turn, "
                     "such as 1MiB (default: all at the same time)");
  command
      .add_option("--server-host",
                  options.server_hosts,
                  "Where the server is, or each of its shards: host3,host7, or by number from 0 "
                  "(default: the first hosts)")
      ->delimiter(',');
}

void check_links(const LinkOptions& options, bool learns, bool applying_takes_time) {
  if (options.shards < 1 || options.shards > kShardsMost) {
    throw usage_error("--shards takes a number from 1 to " + std::to_string(kShardsMost));
  }
  if (options.platform.empty() && options.bandwidth.empty()) {
    for (const auto& [name, given] : {std::pair{"shape", !options.shape.empty()},
                                      std::pair{"payload", !options.payload.empty()},
                                      std::pair{"send-window", !options.send_window.empty()},
                                      std::pair{"server-host", !options.server_hosts.empty()}}) {
      if (given) {
        throw usage_error("--" + std::string(name) +
                          " without --bandwidth or --platform: there are no links");
      }
    }
    if (options.shards > 1 && !applying_takes_time) {
      throw usage_error(
          "--shards without --bandwidth, --platform or --apply: a server that costs nothing has "
          "nothing to divide");
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

double parse_send_window(const std::string& text) {
  if (text.empty()) {
    return 0.0;
  }
  constexpr double kLeast = 1000.0;  // Less than a packet: each window is an event of its own.
  const auto window = links::parse_bytes(text);
  if (!window || !(*window >= kLeast)) {
    throw usage_error("--send-window is '" + text +
                      "'; it takes a size with its unit, at least 1kB, such as 64kB or 1MiB");
  }
  return *window;
}

std::optional<sim::Transfers::Options> make_links(const LinkOptions& options,
                                                  std::uint32_t workers,
                                                  const protocol::Manifest* manifest) {
  if (options.platform.empty() && options.bandwidth.empty()) {
    return std::nullopt;
  }
  const auto payload = manifest == nullptr
                           ? links::parse_bytes(options.payload)
                           : kBytesPerNumber * static_cast<double>(manifest->numbers());
  if (!payload) {
    throw usage_error("--payload is '" + options.payload +
                      "'; it takes a size with its unit such as 400kB or 64MiB");
  }
  sim::Transfers::Options links{.topology = make_topology(options, workers), .payload = *payload};
  links.window = parse_send_window(options.send_window);
  links.servers = sim::place_shards(options.shards, options.server_hosts, links.topology);
  return links;
}

void trace_links(const sim::Transfers::Options& links, Time ended, record::ChromeTrace& trace) {
  const Time begin{ended - links.use->end()};  // Of the measurements, which a job starts after.
  for (std::size_t i = 0; i < links.topology.links.size(); ++i) {
    std::vector<double> used = links.use->rates(links::LinkId(i));
    for (double& rate : used) {
      rate /= links.topology.links[i].bandwidth;
    }
    if (!used.empty()) {
      trace.append_link(links.topology.links[i].name, begin, links.use->window(), used);
    }
  }
}

}  // namespace outpace::cli
