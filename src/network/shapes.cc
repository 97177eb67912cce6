#include "network/shapes.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace outpace::network {
namespace {

constexpr std::uint64_t kHostsMost = 1'000'000;
constexpr std::uint64_t kPortsMost = 128;  // Half a million hosts.
constexpr double kBandwidthMost = 1e18;
constexpr double kLatencyMost = 1e3;

struct Cable {
  double bandwidth;
  double latency;
};

Cable read_cable(SpecReader& options) {
  const double bandwidth = options.number("bandwidth", std::nullopt, 1.0, kBandwidthMost);
  return {bandwidth, options.number("latency", std::nullopt, 0.0, kLatencyMost)};
}

void add_pair(const std::string& name, Cable cable, Topology& out) {
  for (const char* direction : {".up", ".down"}) {
    out.links.push_back(
        {.name = name + direction, .bandwidth = cable.bandwidth, .latency = cable.latency});
  }
}

void add_hosts(std::uint64_t hosts, Cable cable, Topology& out) {
  for (std::uint64_t i = 0; i < hosts; ++i) {
    out.hosts.push_back("host" + std::to_string(i));
    add_pair(out.hosts.back(), cable, out);
  }
}

Topology make_star(SpecReader& options) {
  const std::uint64_t hosts = options.count("hosts", std::nullopt, 1, kHostsMost);
  const Cable cable = read_cable(options);
  options.finish();
  Topology result;
  add_hosts(hosts, cable, result);
  result.routes = StarRoutes{};
  return result;
}

Topology make_tree(SpecReader& options) {
  const std::uint64_t racks = options.count("racks", std::nullopt, 1, kHostsMost);
  const std::uint64_t hosts = options.count("hosts", std::nullopt, 1, kHostsMost / racks);
  const Cable cable = read_cable(options);
  const double all_together = static_cast<double>(hosts) * cable.bandwidth;
  const double uplink = options.number("uplink", all_together, 1.0, kBandwidthMost * 1e6);
  const double latency = options.number("uplink_latency", cable.latency, 0.0, kLatencyMost);
  options.finish();
  Topology result;
  add_hosts(racks * hosts, cable, result);
  for (std::uint64_t rack = 0; rack < racks; ++rack) {
    add_pair("rack" + std::to_string(rack), {uplink, latency}, result);
  }
  result.routes = TreeRoutes{.racks = racks, .hosts_per_rack = hosts};
  return result;
}

Topology make_fat_tree(SpecReader& options) {
  const std::uint64_t ports = options.count("k", std::nullopt, 2, kPortsMost);
  if (ports % 2 != 0) {
    throw usage_error("topology 'fattree': k is '" + std::to_string(ports) +
                      "'; it takes an even number");
  }
  const std::uint64_t half = ports / 2;
  const Cable cable = read_cable(options);
  options.finish();
  Topology result;
  add_hosts(2 * half * half * half, cable, result);
  const auto add_level = [&](const std::string& lower, const std::string& upper) {
    for (std::uint64_t from = 0; from < 2 * half * half; ++from) {
      for (std::uint64_t to = 0; to < half; ++to) {
        add_pair(lower + std::to_string(from) + "-" + upper + std::to_string(to), cable, result);
      }
    }
  };
  add_level("edge", "aggregation");
  add_level("aggregation", "core");
  result.routes = FatTreeRoutes{.half = half};
  return result;
}

struct Shape {
  std::string name;
  Topology (*make)(SpecReader& options);
};

}  // namespace

Topology make_topology(const Spec& spec) {
  static const std::array<Shape, 3> kShapes{
      {{"star", make_star}, {"tree", make_tree}, {"fattree", make_fat_tree}}};
  std::vector<std::string> names;
  for (const Shape& shape : kShapes) {
    if (shape.name == spec.name) {
      SpecReader options("topology", spec);
      return shape.make(options);
    }
    names.push_back(shape.name);
  }
  throw usage_error("unknown topology '" + spec.name + "'" + suggestion(spec.name, names));
}

}  // namespace outpace::network
